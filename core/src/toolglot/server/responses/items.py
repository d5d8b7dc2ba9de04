"""The items of a conversation: what a client may send, and what the store keeps, in one form."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from toolglot.errors import RequestError
from toolglot.server.decoding import convert
from toolglot.server.encoding import encode_json

Name: TypeAlias = Annotated[str, Meta(min_length=1)]

_SEALED = "toolglot:"
"""How the inside of ``encrypted_content`` begins, where this server has made it."""


class Part(Struct, frozen=True, omit_defaults=True):
    """A part of a message's content or of a call's output."""

    type: str
    text: str | None = None
    refusal: str | None = None
    annotations: Sequence[Any] | UnsetType = UNSET

    @property
    def said(self) -> str:
        """Its text, whichever kind it is of."""
        return self.text or self.refusal or ""


class ItemMessage(Struct, frozen=True, tag_field="type", tag="message"):
    """Something that was said."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | Sequence[Part]
    id: str | None = None
    status: Literal["completed", "incomplete"] = "completed"


class ItemCall(Struct, frozen=True, tag_field="type", tag="function_call"):
    """A call that the model made."""

    call_id: Name
    name: Name
    arguments: str
    id: str | None = None
    status: Literal["completed", "incomplete"] = "completed"


class ItemCallOutput(Struct, frozen=True, tag_field="type", tag="function_call_output"):
    """What a call gave."""

    call_id: Name
    output: str | Sequence[Part]
    id: str | None = None
    status: Literal["completed", "incomplete"] = "completed"


class ItemReasoning(Struct, frozen=True, tag_field="type", tag="reasoning", omit_defaults=True):
    """Reasoning of the model."""

    summary: Sequence[Part] | None
    content: Sequence[Part] | None = None
    encrypted_content: str | None = None
    id: str | None = None

    @property
    def text(self) -> str:
        """The reasoning, in the best form in which it is there."""
        if self.content:
            return "".join(part.said for part in self.content)
        if self.encrypted_content is not None:
            return unsealed(self.encrypted_content)
        return "\n".join(part.said for part in self.summary or ())


class ItemReference(Struct, frozen=True, tag_field="type", tag="item_reference"):
    """An item that the server has already."""

    id: str


Item: TypeAlias = ItemMessage | ItemCall | ItemCallOutput | ItemReasoning

_DECODER: msgspec.json.Decoder[Item] = msgspec.json.Decoder(Item)
_KINDS = ("message", "function_call", "function_call_output", "reasoning", "item_reference")
_PREFIXES = {"message": "msg", "function_call": "fc", "function_call_output": "fco", "reasoning": "rs"}


class _Sent(Struct, frozen=True):
    input: list[ItemMessage | ItemCall | ItemCallOutput | ItemReasoning | ItemReference]


def new_id(kind: str) -> str:
    """An id that nobody guesses, for a thing of a kind, such as ``resp``."""
    return f"{kind}_{secrets.token_hex(24)}"


def new_item_id(item: Item) -> str:
    """An id for an item that a client sent."""
    return new_id(_PREFIXES[str(item.__struct_config__.tag)])


def read_items(value: str | Sequence[Mapping[str, Any]], stored: Callable[[str], bytes | None]) -> list[Item]:
    """The items of an ``input``; ``stored`` gives those that it only refers to.

    Raises:
        RequestError: one is of a kind that is not served, or not as it must be; ``param`` is the field.
    """
    if isinstance(value, str):
        return [ItemMessage("user", value)]
    sent = convert({"input": [_with_type(item, f"input[{at}]") for at, item in enumerate(value)]}, _Sent)
    return [_read(item, f"input[{at}]", stored) for at, item in enumerate(sent.input)]


def listed(item: Item, item_id: str) -> bytes:
    """The item as JSON, as clients list it: under this id, its text in parts."""
    match item:
        case ItemMessage():
            item = replace(item, content=_listed_parts(item.content, spoken=item.role == "assistant"))
        case ItemCallOutput(output=list(parts)):
            item = replace(item, output=_listed_parts(parts, spoken=False))
        case ItemReasoning(summary=None):
            item = replace(item, summary=())
    return encode_json(replace(item, id=item_id))


def decode(body: bytes) -> Item:
    """The item in JSON that the server has written."""
    return _DECODER.decode(body)


def sealed(reasoning: str) -> str:
    """Reasoning as ``encrypted_content``: it is not encrypted, only made into what clients do not look into."""
    return base64.b64encode(f"{_SEALED}{reasoning}".encode("utf-8", "replace")).decode()


def unsealed(content: str) -> str:
    """The reasoning that :func:`sealed` was given.

    Raises:
        ValueError: this server has not made it.
    """
    text = base64.b64decode(content, validate=True).decode()
    if not text.startswith(_SEALED):
        raise ValueError("it has another beginning")
    return text.removeprefix(_SEALED)


def _listed_parts(content: str | Sequence[Part], *, spoken: bool) -> list[Part]:
    parts = [Part("text", content)] if isinstance(content, str) else content
    if not spoken:
        return [Part("input_text", part.said) for part in parts]
    return [part if part.type == "refusal" else Part("output_text", part.said, annotations=()) for part in parts]


def _with_type(item: Mapping[str, Any], at: str) -> dict[str, Any]:
    """The item with its type, which may be left out of messages and references."""
    kind = item.get("type") or ("message" if "role" in item else "item_reference" if item.keys() == {"id"} else None)
    if kind is None:
        raise RequestError(f"an item needs a `type` at `{at}`; use one of {', '.join(_KINDS)}", param=f"{at}.type")
    if kind not in _KINDS:
        message = f"items of type {str(kind)[:80]!r} cannot be served; there is {', '.join(_KINDS)}"
        raise RequestError(message, param=f"{at}.type")
    status = {} if item.get("status") in ("completed", "incomplete") else {"status": "completed"}
    return {**item, **status, "type": kind}


def _read(item: Item | ItemReference, at: str, stored: Callable[[str], bytes | None]) -> Item:
    match item:
        case ItemReference(id=item_id):
            body = stored(item_id)
            if body is None:
                raise RequestError(f"there is no item {item_id[:80]!r} here, or no longer", param=f"{at}.id")
            return decode(body)
        case ItemMessage(role="assistant", content=content):
            _check_parts(content, f"{at}.content", ("output_text", "refusal", "input_text", "text"))
        case ItemMessage(content=content):
            _check_parts(content, f"{at}.content", ("input_text", "output_text", "text"))
        case ItemCallOutput(output=output):
            _check_parts(output, f"{at}.output", ("input_text", "output_text", "text"))
        case ItemReasoning():
            _check_reasoning(item, at)
    return item


def _check_reasoning(item: ItemReasoning, at: str) -> None:
    _check_parts(item.content or (), f"{at}.content", ("reasoning_text",))
    _check_parts(item.summary or (), f"{at}.summary", ("summary_text",))
    try:
        item.text  # noqa: B018  it tells whether the sealed text can be opened
    except ValueError as error:
        message = f"this server has not made `{at}.encrypted_content`; send the `content`, or leave the item out"
        raise RequestError(message, param=f"{at}.encrypted_content") from error


def _check_parts(parts: str | Sequence[Part], at: str, kinds: Sequence[str]) -> None:
    for number, part in enumerate(() if isinstance(parts, str) else parts):
        if part.type not in kinds:
            message = f"parts of type {part.type[:80]!r} cannot be served here; there is {', '.join(kinds)}"
            raise RequestError(message, param=f"{at}[{number}].type")
        field = "refusal" if part.type == "refusal" else "text"
        if getattr(part, field) is None:
            raise RequestError(f"a part of type {part.type!r} needs `{field}`", param=f"{at}[{number}].{field}")
