"""Who says what is valid: ``jsonschema``, with exact numbers."""

from __future__ import annotations

import decimal
import json
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from jsonschema import Draft7Validator, Draft202012Validator, FormatChecker
from jsonschema.validators import extend
from jsonschema_specifications import REGISTRY
from referencing.exceptions import Unresolvable

Draft: TypeAlias = Literal["2020-12", "7"]

_DIGITS = 1000
"""Of numbers, so that remainders are exact."""


def _is_integer(_: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


def _exact(validator: Any) -> Any:
    return extend(validator, type_checker=validator.TYPE_CHECKER.redefine("integer", _is_integer))


def _formats(validator: Any) -> FormatChecker:
    """The checks of a draft's formats, but for one that takes 105 for a number with a leading zero."""
    checker = FormatChecker(())
    found = validator.FORMAT_CHECKER.checkers
    checker.checkers = {name: check for name, check in found.items() if name != "relative-json-pointer"}
    return checker


_VALIDATORS = {"2020-12": _exact(Draft202012Validator), "7": _exact(Draft7Validator)}


class Referee:
    """Judges JSON texts by one schema of a draft; formats count."""

    def __init__(self, schema: Any, draft: Draft) -> None:
        exact = json.loads(json.dumps(schema), parse_float=Decimal)
        validator = _VALIDATORS[draft]
        self._validator = validator(exact, format_checker=_formats(validator), registry=REGISTRY)

    def violation(self, text: str) -> str | None:
        """What is wrong with ``text``; None where it is valid."""
        try:
            value = json.loads(text, parse_float=Decimal, parse_constant=_refuse)
        except ValueError as error:
            return f"no JSON: {error}"
        with decimal.localcontext(prec=_DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN):
            try:
                found = next(self._validator.iter_errors(value), None)
            except Unresolvable as error:  # nothing is fetched
                return f"there is no telling: {error}"
        return None if found is None else f"{found.json_path}: {found.message}"


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
