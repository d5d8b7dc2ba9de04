"""The formats of strings: whatever they have is valid for jsonschema and for jsonschema-rs."""

from __future__ import annotations

import jsonschema
import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolglot.schemas.language import PatternError, string_format
from toolglot.schemas.string_formats import FORMATS

_ADMITTED = {
    "date": ["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31"],
    "time": ["23:59:59Z", "00:00:00.123+05:30"],
    "date-time": ["2024-02-29T12:00:00Z", "1999-12-31T23:59:59.5-08:00"],
    "duration": ["P1D", "PT5M", "P1Y2M3DT4H5M6S", "P3W"],
    "email": ["a@b.example", "first.last+tag@mail.example.org"],
    "hostname": ["localhost", "my-cool-host-1.example.com", "a.mail.example.org"],
    "ipv4": ["0.0.0.0", "255.255.255.255", "192.168.1.10"],
    "ipv6": ["::", "::1", "2001:db8::8a2e:370:7334", "1:2:3:4:5:6:7:8", "1::", "1:2:3:4:5:6:7::"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000"],
    "uri": ["https://example.org:8080/a/b?q=1#f", "mailto:a@b.c", "urn:isbn:123", "file:///etc/hosts", "a:/"],
    "uri-reference": ["", "../a?b", "#f", "/a/b", "//host/x", "https://example.org"],
    "json-pointer": ["", "/a/0/~0~1", "/é"],
    "relative-json-pointer": ["0", "1/a", "12#"],
    "uri-template": ["/users/{id}/posts"],
}
_REFUSED = {
    "date": ["2023-02-29", "1900-02-29", "2024-04-31", "0000-01-01", "2024-13-01", "24-01-01"],
    "time": ["24:00:00Z", "12:00:00", "12:60:00Z"],
    "date-time": ["2024-01-01 12:00:00Z", "2024-01-01T12:00:00"],
    "duration": ["P", "PT", "P1H", "1D", "P1W2D"],
    "email": ["a", "@b", "a@", "a@b@c"],
    "hostname": ["-a", "a-", "a..b", ""],
    "ipv4": ["256.1.1.1", "01.1.1.1", "1.1.1"],
    "ipv6": [":", "1:2:3", "::1::", "1:2:3:4:5:6:7:8:9", "12345::"],
    "uuid": ["123e4567e89b12d3a456426614174000"],
    "uri": ["example.org", "//a", "http://a b", ""],
    "json-pointer": ["a", "/~2"],
    "relative-json-pointer": ["-1", "01"],
}


@pytest.mark.parametrize("name", FORMATS)
def test_there_are_strings_of_every_format(name: str) -> None:
    language = string_format(name)
    assert language is not None
    assert [text for text in _ADMITTED.get(name, ()) if not language.matches(text)] == []
    assert [text for text in _REFUSED.get(name, ()) if language.matches(text)] == []
    assert language.shortest() is not None


@settings(max_examples=10, deadline=None)
@given(st.data())
@pytest.mark.parametrize("name", FORMATS)
def test_every_string_of_a_format_is_valid(name: str, data: st.DataObject) -> None:
    source, _ = FORMATS[name]
    language = string_format(name)
    assert language is not None
    text = data.draw(st.from_regex(f"(?:{source})", fullmatch=True))
    assert language.matches(text)
    schema = {"type": "string", "format": name}
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER).validate(
        text
    )
    jsonschema_rs.validator_for(schema, validate_formats=True).validate(text)


def test_what_is_no_format_of_strings_says_nothing() -> None:
    assert [string_format(name) for name in ("int32", "double", "password", "my-custom", "binary")] == [None] * 5


def test_no_grammar_tells_what_a_regular_expression_is() -> None:
    with pytest.raises(PatternError, match="regular expression"):
        string_format("regex")


@pytest.mark.parametrize(
    ("name", "most", "text"),
    [
        ("email", 254, "first.last+tag@mail.example.org"), ("email", 100, "first.last@example.org"),
        ("hostname", 253, "my-cool-host-1.example.com"), ("uri", 2_048, "https://example.org/a/b?q=1"),
        ("uri", 100, "https://example.org/a/b?q=1"), ("date-time", 64, "2024-02-29T12:00:00Z"),
    ],
)  # fmt: skip
def test_a_format_with_a_length_has_what_is_common(name: str, most: int, text: str) -> None:
    language = string_format(name)
    assert language is not None
    assert language.within(1, most).matches(text)
