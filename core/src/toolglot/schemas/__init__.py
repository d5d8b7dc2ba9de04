"""What a client's schema says, in a form that grammars are made from.

:func:`normalise` gives the normal form (:mod:`toolglot.schemas.normal`) of a schema in any spelling, with a finding for
each keyword; :func:`admits` says whether a value is in it.
"""

from __future__ import annotations

from toolglot.schemas.admission import admits
from toolglot.schemas.audit import Finding, Normalised
from toolglot.schemas.normalise import normalise

__all__ = ["Finding", "Normalised", "admits", "normalise"]
