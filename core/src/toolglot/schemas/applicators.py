"""The keywords that hold of values of every kind: constants, references, and what joins schemas."""

from __future__ import annotations

from itertools import permutations

from toolglot.schemas import arrays, objects, strings
from toolglot.schemas.algebra import Algebra
from toolglot.schemas.nodes import small
from toolglot.schemas.normal import Constants, Node, Object, Others
from toolglot.schemas.part import Part
from toolglot.schemas.unions import options, united
from toolglot.schemas.unsettled import NOTHING, REST, TYPED, Named, Rest, rest_except, unsaid
from toolglot.schemas.values import distinct

_MOST_FIRST = 64
"""How many nodes the items may have that ``contains`` puts at a known place."""
_MOST_PLACED = 8
"""How many places ``contains`` tries, and how many more items it wants than it must."""
_NO_OBJECT = rest_except(["object"])
_DYNAMIC = "what it refers to depends on how the schema was come by"


def constant(part: Part, node: Node) -> Node:
    return part.refined(node, Constants((part.values["const"],)), "const")


def enumeration(part: Part, node: Node) -> Node:
    values = distinct(part.values["enum"])
    return part.refined(node, Constants(values) if values else NOTHING, "enum")


def reference(part: Part, node: Node) -> Node:
    target = part.walk.document.target(part.values["$ref"], part.place.path)
    if target is None:
        part.larger("$ref", f"{part.values['$ref'][:80]!r} is outside of the schema; put what it means in $defs")
        return node
    return part.refined(node, part.walk.definition(target, positive=part.place.positive), "$ref")


def all_of(part: Part, node: Node) -> Node:
    for number, schema in enumerate(part.values["allOf"]):
        node = part.refined(node, part.walk.part(schema, part.at("allOf", number)), "allOf")
    return node


def any_of(part: Part, node: Node) -> Node:
    parts = _parts(part, "anyOf")
    algebra = part.algebra("anyOf")
    return part.judged(node, united([algebra.intersect(node, one) for one in parts]), "anyOf")


def one_of(part: Part, node: Node) -> Node:
    """Each option without what another admits too."""
    admitted, others = _parts(part, "oneOf"), _contraries(part, "oneOf")
    algebra, contrary = part.algebra("oneOf"), dict[int, Node]()
    admitted = [algebra.intersect(node, option) for option in admitted]
    found = list(admitted)
    for mine, its in permutations(range(len(found)), 2):
        if algebra.disjoint(found[mine], others[its]):
            continue
        if part.place.positive and (apart := _lacking(found[mine], others[its], algebra)) != NOTHING:
            algebra.losses.shrink("an alternative leaves out what another one requires")
            found[mine] = apart
            continue
        if its not in contrary:
            contrary[its] = algebra.complement(others[its])
        found[mine] = algebra.intersect(found[mine], contrary[its])
    return part.judged(united(admitted), united(found), "oneOf")


def negation(part: Part, node: Node) -> Node:
    denied = part.contrary(part.walk.part, part.values["not"], part.at("not"))
    return part.refined(node, part.algebra("not").complement(denied), "not")


def condition(part: Part, node: Node) -> Node:
    """What ``if`` and ``then`` admit, and what ``if`` does not and ``else`` does."""
    met = part.walk.part(part.values["if"], part.at("if"))
    unmet = part.contrary(part.walk.part, part.values["if"], part.at("if"))
    then, otherwise = (part.walk.part(part.get(key, True), part.at(key)) for key in ("then", "else"))
    algebra = part.algebra("if")
    yes = algebra.intersect(algebra.intersect(node, met), then)
    no = algebra.intersect(algebra.intersect(node, algebra.complement(unmet)), otherwise)
    return part.judged(node, united([yes, no]), "if")


def dependent_names(part: Part, node: Node) -> Node:
    for name, required in part.values["dependentRequired"].items():
        said = [_NO_OBJECT, objects.without(name), objects.having(dict.fromkeys([name, *required]))]
        node = part.refined(node, united(said), "dependentRequired")
    return node


def dependent_schemas(part: Part, node: Node) -> Node:
    for name, schema in part.values["dependentSchemas"].items():
        then = part.walk.part(schema, part.at("dependentSchemas", name))
        having = part.algebra("dependentSchemas").intersect(objects.having([name]), then)
        node = part.refined(node, united([_NO_OBJECT, objects.without(name), having]), "dependentSchemas")
    return node


def names(part: Part, node: Node) -> Node:
    """``propertyNames``: names that are listed become members that may be there."""
    schema = part.walk.name(part.values["propertyNames"], part.at("propertyNames"))
    algebra = part.algebra("propertyNames")
    found = algebra.intersect(TYPED["string"], schema)
    wanted = algebra.resolved(found) or found
    if wanted == NOTHING:
        said: Node = Object()
    elif isinstance(wanted, Constants):
        said = Object(tuple(Named(name, REST) for name in wanted.values))
    else:
        said = Object(others=(Others(REST, strings.language(wanted, algebra.losses)),))
    return part.refined(node, united([_NO_OBJECT, said]), "propertyNames")


def contained(part: Part, node: Node) -> Node:
    """``contains``: the items that it wants come first."""
    least, most = part.get("minContains", 1), part.get("maxContains")
    schema, place = part.values["contains"], part.at("contains")
    wanted, unwanted = part.walk.value(schema, place), part.contrary(part.walk.value, schema, place)
    algebra = part.algebra("contains")
    if wanted is REST and unwanted is REST:
        said = [arrays.made((), REST, least, most)]
    elif not small(wanted, _MOST_FIRST // max(least, 1)):
        algebra.losses.grow("what it wants, as often as it wants it, is too large")
        said = [TYPED["array"]]
    else:
        said = _starts(part, wanted, least) if most is None else _counted(wanted, unwanted, least, most, algebra)
        if least or most:
            algebra.losses.shrink("the items that it wants come first")
    return part.refined(node, united([rest_except(["array"]), *said]), "contains")


def dynamic_reference(part: Part, node: Node) -> Node:
    part.larger("$dynamicRef", _DYNAMIC)
    return node


def recursive_reference(part: Part, node: Node) -> Node:
    part.larger("$recursiveRef", _DYNAMIC)
    return node


def _parts(part: Part, keyword: str) -> list[Node]:
    return [part.walk.part(schema, part.at(keyword, n)) for n, schema in enumerate(part.values[keyword])]


def _lacking(mine: Node, other: Node, algebra: Algebra) -> Node:
    """The objects of ``mine`` that lack a member that ``other`` requires, where the values of members could tell them
    apart too, which no one means.
    """
    here, there = _object(mine, algebra), _object(other, algebra)
    if here is None or there is None or all(unsaid(one.value) for one in there.properties):
        return NOTHING
    own = {one.name for one in here.properties if one.required}
    name = next((one.name for one in there.properties if one.required and one.name not in own), None)
    return NOTHING if name is None else algebra.intersect(here, objects.without(name))


def _object(node: Node, algebra: Algebra) -> Object | None:
    """The object node that is all that a node says of objects; None where there is no such."""
    resolved = algebra.resolved(node)
    found = [one for one in options(resolved) if not isinstance(one, Rest)] if resolved else []
    return found[0] if len(found) == 1 and isinstance(found[0], Object) else None


def _contraries(part: Part, keyword: str) -> list[Node]:
    return [part.contrary(part.walk.part, schema, part.at(keyword, n)) for n, schema in enumerate(part.values[keyword])]


def _starts(part: Part, wanted: Node, count: int) -> list[Node]:
    """Arrays whose first items are ``count`` wanted ones, or that have these after some of ``prefixItems``."""
    if count == 0:
        return [TYPED["array"]]
    before = range(min(len(part.get("prefixItems", ())), _MOST_PLACED) + 1)
    return [arrays.made((*(REST,) * skipped, *(wanted,) * count), REST, skipped + count, None) for skipped in before]


def _counted(wanted: Node, unwanted: Node, least: int, most: int, algebra: Algebra) -> list[Node]:
    """Arrays of ``least`` to ``most`` wanted items and then of others."""
    others = algebra.complement(unwanted)
    counts = range(least, min(most, least + _MOST_PLACED) + 1)
    return [arrays.made((wanted,) * count, others, count, None) for count in counts]
