"""The keywords that speak of one kind of value: numbers, strings, arrays, objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from toolglot.schemas import arrays, numbers, objects, strings
from toolglot.schemas.language import Language, PatternError, TooLargeError, pattern, string_format
from toolglot.schemas.member_patterns import MemberPatterns
from toolglot.schemas.normal import Anything, Bound, Constants, Node, Object, Others, Property, String
from toolglot.schemas.part import Part
from toolglot.schemas.type_names import type_names
from toolglot.schemas.unions import united
from toolglot.schemas.unsettled import NOTHING, REST, TYPED, Rest, explicit, rest_except, unsaid
from toolglot.schemas.values import decimal


def said(part: Part) -> Node:
    """What the schema's own keywords say of types, numbers, strings, arrays and objects."""
    spoken = [kind for kind, keywords in KEYWORDS.items() if not keywords.isdisjoint(part.values)]
    if "type" not in part.values:
        return _untyped(part, spoken) if spoken else REST
    names = type_names(part.values["type"])
    kinds = dict.fromkeys("number" if name == "integer" else name for name in names)
    if len(kinds) == len(TYPED) and not spoken:
        return Anything()
    if "integer" in names and "number" not in names:
        spoken.append("number")
    return united(_NODES[kind](part) if kind in spoken else TYPED[kind] for kind in kinds)


def _untyped(part: Part, spoken: Iterable[str]) -> Node:
    """No type is said: values of other kinds are as good."""
    nodes = {kind: _NODES[kind](part) for kind in spoken}
    nodes = {kind: node for kind, node in nodes.items() if node is not TYPED[kind]}
    return united([*nodes.values(), rest_except(nodes)])


def _number(part: Part) -> Node:
    names = type_names(part.get("type", "number"))
    bounds = {keyword: _bound(part, keyword) for keyword in _LIMITS}
    node = numbers.made(
        integer="number" not in names,
        least=numbers.tighter(bounds["minimum"], bounds["exclusiveMinimum"], 1),
        most=numbers.tighter(bounds["maximum"], bounds["exclusiveMaximum"], -1),
    )
    if "multipleOf" not in part.values:
        return node
    step, losses = Fraction(decimal(part.values["multipleOf"])), part.algebra("multipleOf").losses
    if step.denominator != 1 and (named := _constants(part)):
        found = tuple(value for value in named if numbers.is_multiple(value, step, losses))
        return part.refined(node, Constants(found) if found else NOTHING, "multipleOf")
    return part.refined(node, numbers.multiples(step, losses), "multipleOf")


def _constants(part: Part) -> list[Any]:
    """All that ``enum`` and ``const`` hold."""
    return [*part.get("enum", ()), *([part.values["const"]] if "const" in part.values else ())]


def _bound(part: Part, keyword: str) -> Bound | None:
    value = part.get(keyword)
    return None if value is None else Bound(decimal(value), keyword.startswith("exclusive"))


def _string(part: Part) -> Node:
    least, most = part.get("minLength", 0), part.get("maxLength")
    node = TYPED["string"] if (least, most) == (0, None) else strings.made(least, most)
    for keyword, load in (("pattern", pattern), ("format", string_format)):
        if keyword in part.values and (language := _language(part, keyword, load)):
            node = part.refined(node, String(language=language), keyword)
    return node


def _language(part: Part, keyword: str, load: Callable[[str], Language | None]) -> Language | None:
    """The strings of a pattern or a format; None where it says nothing that can be enforced."""
    try:
        language = load(part.values[keyword])
        if language is None:
            return None
        if not part.place.positive:
            return strings.built(partial(strings.possible, language), part.walk.algebra.effort)
    except (PatternError, TooLargeError) as error:
        part.larger(keyword, str(error))
        return None
    if language.narrowed:
        part.algebra(keyword).losses.shrink("not all of the strings that it admits")
    return strings.certain(language)


def _array(part: Part) -> Node:
    first = [part.walk.value(one, part.at("prefixItems", n)) for n, one in enumerate(part.get("prefixItems", ()))]
    rest = explicit(part.walk.value(part.values["items"], part.at("items"))) if "items" in part.values else REST
    return arrays.made(first, rest, part.get("minItems", 0), part.get("maxItems"))


def _object(part: Part) -> Node:
    declared = part.get("properties", {})
    values = {name: part.walk.value(one, part.at("properties", name)) for name, one in declared.items()}
    patterns = MemberPatterns(part)
    others = [*patterns.claims, *_additional(part, patterns)]
    required = dict.fromkeys(part.get("required", ()))
    found = [Property(name, patterns.refined(name, node), name in required) for name, node in values.items()]
    undeclared = Object(others=tuple(others))
    found += [_required(undeclared, name) for name in required if name not in values]
    part.blame([one.name for one in found if one.required and one.value == NOTHING])
    return objects.made(found, others, _least(part, found, others), part.get("maxProperties"))


def _least(part: Part, found: Sequence[Property], others: Sequence[Others]) -> int:
    """How many members there must be, as far as a grammar can count those that are not declared."""
    least: int = part.get("minProperties", 0)
    possible = sum(one.value != NOTHING for one in found)
    closes = any(isinstance(one.value, Rest) and one.value.closes for one in others)
    fits = part.get("maxProperties", least) >= least and any(one.value != NOTHING for one in others)
    if not (part.place.positive and fits) or (closes and least <= possible):
        return least
    if least > possible + objects.MOST_UNDECLARED:
        part.larger("minProperties", f"only {objects.MOST_UNDECLARED} members that are not declared are counted")
        return possible + objects.MOST_UNDECLARED
    part.walk.counting.append(part.place)
    return least


def _additional(part: Part, patterns: MemberPatterns) -> Iterator[Others]:
    """What the members are that neither ``properties`` nor a pattern names."""
    if patterns.free is not None and patterns.free.empty:
        return
    if "additionalProperties" in part.values:
        value = explicit(part.walk.value(part.values["additionalProperties"], part.at("additionalProperties")))
        yield Others(value if patterns.complete or part.place.positive else REST, patterns.free)
        return
    closes = bool(part.get("properties")) and "unevaluatedProperties" not in part.values
    if closes and part.place.positive:
        part.smaller("properties", "no members but the declared ones")
    yield Others(Rest(closes=closes), patterns.free)


def _required(node: Object, name: str) -> Property:
    """A member that is required, and that ``properties`` does not have."""
    found = objects.member(node, name)
    return type(found)(name, REST if unsaid(found.value) else found.value, required=True)


KEYWORDS: Mapping[str, frozenset[str]] = {
    "number": frozenset(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    "string": frozenset(("minLength", "maxLength", "pattern", "format")),
    "array": frozenset(("prefixItems", "items", "minItems", "maxItems")),
    "object": frozenset(
        ("properties", "patternProperties", "additionalProperties", "required", "minProperties", "maxProperties")
    ),
}
"""The keywords that speak of values of one kind."""

_NODES: Mapping[str, Callable[[Part], Node]] = {
    "number": _number,
    "string": _string,
    "array": _array,
    "object": _object,
}
_LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
