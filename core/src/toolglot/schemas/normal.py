"""The normal form of a schema: the few kinds of values that every grammar in :mod:`toolglot.formats` writes exactly.

A schema in any draft's spelling becomes one of these nodes (see :mod:`toolglot.schemas.normalise`); what it says that
no node can hold is reported as relaxed, never dropped in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from msgspec import Struct

from toolglot.schemas.language import Language


class Anything(Struct, frozen=True):
    """Any JSON value."""


class Constants(Struct, frozen=True):
    """One of these JSON values. null and the booleans are constants too."""

    values: tuple[Any, ...]


class Bound(Struct, frozen=True):
    """A limit of a number."""

    value: Decimal
    exclusive: bool = False


class Number(Struct, frozen=True):
    """A number. An integer's bounds are integers, and inclusive; only an integer has a ``multiple``."""

    integer: bool = False
    least: Bound | None = None
    most: Bound | None = None
    multiple: int = 1


class String(Struct, frozen=True):
    """A string of ``least`` to ``most`` characters (``most`` None: no limit), or one of a language, which then holds
    the lengths too.
    """

    least: int = 0
    most: int | None = None
    language: Language | None = None


class Array(Struct, frozen=True):
    """An array of ``first``, each as its own node says, then of items that are ``rest`` (None: of none), ``least`` to
    ``most`` in all. Where it has fewer than ``first``, the later ones are missing.
    """

    first: tuple[Node, ...] = ()
    rest: Node | None = Anything()
    least: int = 0
    most: int | None = None


class Property(Struct, frozen=True):
    """A declared member of an object."""

    name: str
    value: Node
    required: bool = False


class Others(Struct, frozen=True):
    """Members that are not declared: those whose names are in ``names`` (None: any name) and none of the declared."""

    value: Node
    names: Language | None = None


class Object(Struct, frozen=True):
    """An object: declared members, in this order, then ``others``, whose languages of names have nothing in common;
    ``least`` to ``most`` members in all.
    """

    properties: tuple[Property, ...] = ()
    others: tuple[Others, ...] = ()
    least: int = 0
    most: int | None = None


class Union(Struct, frozen=True):
    """Whatever one of the options admits. None of them is a union; there are at least two."""

    options: tuple[Node, ...]


class Reference(Struct, frozen=True):
    """A node of :attr:`Normal.definitions`."""

    name: str


Node: TypeAlias = Anything | Constants | Number | String | Array | Object | Union | Reference


class Normal(Struct, frozen=True):
    """A schema in normal form."""

    root: Node
    definitions: Mapping[str, Node] = {}
