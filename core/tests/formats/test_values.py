"""The rules by which the text of an element becomes JSON."""

from __future__ import annotations

import json
from random import Random

import pytest

from toolglot.errors import RenderError
from toolglot.formats.bare_value import Subschema
from toolglot.formats.element_template import element_template, written
from toolglot.formats.nested import Nested
from toolglot.formats.values import ByFlag, BySchema, ByType, same

TEMPLATE = element_template("<{key}>{value}</{key}>", ())
TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")


def schema(*types, **more):
    given = {"type": list(types), **more}
    return Subschema(given, given)


@pytest.mark.parametrize(
    ("rule", "slots", "schema_", "streams"),
    [
        (BySchema(), {}, None, True),
        (BySchema(), {}, schema("string"), True),
        (BySchema(), {}, schema("string", "null"), False),
        (BySchema(), {}, schema("integer"), False),
        (ByFlag(), {"text": "true"}, schema("integer"), True),
        (ByFlag(), {"text": "TRUE"}, None, True),
        (ByFlag(), {"text": "false"}, schema("string"), False),
        (ByFlag(), {}, schema("string"), False),
        (ByFlag("raw"), {"raw": "true"}, None, True),
        (ByType(), {"type": "string"}, schema("integer"), True),
        (ByType(), {"type": "number"}, schema("string"), False),
        (ByType(), {}, schema("string"), True),
        (ByType(), {}, schema("integer"), False),
        (Nested(), {}, schema("string"), True),
        (Nested(), {}, schema("string", "object"), False),
        (Nested(), {}, None, False),
    ],
)
def test_only_what_is_a_string_for_certain_is_passed_on_as_it_comes(rule, slots, schema_, streams):
    assert rule.streams(slots, schema_) is streams


@pytest.mark.parametrize(
    ("rule", "slots", "text", "value"),
    [
        (BySchema(), {}, " 5 ", 5),
        (ByFlag(), {"text": "false"}, '"5"', "5"),
        (ByFlag(), {"text": "false"}, "[1,", "[1,"),
        (ByFlag(), {}, "None", None),
        (ByType(), {"type": "object"}, '{"a": 1}', {"a": 1}),
        (ByType(), {"type": "number"}, "five", "five"),
        (ByType(), {}, "5", 5),
        (Nested(), {}, "", []),
    ],
)
def test_any_other_text_is_judged(rule, slots, text, value):
    kinds = ("array",) if isinstance(rule, Nested) else ("integer", "null", "string")

    assert json.loads(rule.judge(text, slots, schema(*kinds))) == value


@pytest.mark.parametrize("rule", [BySchema(), ByFlag(), ByType(), Nested()])
@pytest.mark.parametrize("kind", TYPES)
def test_what_is_written_is_read(rule, kind):
    value = dict(zip(TYPES, (" a\n", 5, 0.5, False, None, ["a"], {"a": "b"}), strict=True))[kind]
    typed = schema(kind, items={"type": "string"}, properties={"a": {"type": "string"}})
    slots = rule.slots(value)
    for seed in range(30):
        text = rule.write(value, slots, typed, TEMPLATE, Random(seed) if seed else None)
        if isinstance(rule, Nested) and kind in ("array", "object"):
            assert text.replace(" ", "").replace("\n", "").replace("\t", "") in ("<item>a</item>", "<a>b</a>")
        elif rule.streams(slots, typed):
            assert text == value
        else:
            assert same(json.loads(rule.judge(text, slots, typed)), value)


@pytest.mark.parametrize(
    ("rule", "value", "types"),
    [
        (BySchema(), 5, ("string",)),
        (BySchema(), "5", ("string", "integer")),
        (BySchema(), "null", ("string", "null")),
        (BySchema(), 5.5, ("integer", "string")),
        (Nested(), {}, ("object", "string")),
        (Nested(), [], ("string",)),
        (Nested(), {"item": "1"}, ("string",)),
    ],
)
def test_what_would_be_read_as_another_type_is_not_written(rule, value, types):
    with pytest.raises(RenderError, match="cannot be written"):
        rule.write(value, rule.slots(value), schema(*types), TEMPLATE, None)


def test_numbers_booleans_and_floats_are_not_the_same():
    assert not same(1, True)
    assert not same(1, 1.0)
    assert not same("1", 1)
    assert same({"a": [None, 0.5], "b": 1}, {"b": 1, "a": [None, 0.5]})


@pytest.mark.parametrize(
    ("argument", "openers", "mark", "frame", "closer"),
    [
        ("<p={key}>\n{value}\n</p>\n", ("<p={key}>",), "", ("\n", False, "\n"), "</p>"),
        ("<p={key}>~{value}~</p>", ("<p={key}>",), "", ("", True, ""), "</p>"),
        ("<k>{key}</k>\n<v>{value}</v>~", ("<k>{key}</k>",), "<v>", ("", False, ""), "</v>"),
        ("<k>~{key}~</k>~<v>{value}</v>", ("<k>~{key}~</k>",), "<v>", ("", False, ""), "</v>"),
        (
            "<p key={key:attr} type={type:attr}>{value}</p>",
            ("<p key={key:attr} type={type:attr}>", "<p key={key:attr}>"),
            "",
            ("", False, ""),
            "</p>",
        ),
    ],
)
def test_a_template_is_taken_apart(argument, openers, mark, frame, closer):
    template = element_template(argument, ("type",))

    assert (template.openers, template.mark, template.closer) == (openers, mark, closer)
    assert (template.lead, template.loose, template.trail) == frame


@pytest.mark.parametrize("key", ["a  b", "a>b", "a\nb", "", "x" * 300])
def test_a_key_that_would_not_be_read_is_not_written(key):
    with pytest.raises(RenderError, match="cannot be written"):
        written("<p={key}>", {"key": key}, None)
