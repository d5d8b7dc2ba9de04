"""The vocabulary for declaring a wire format; everything else about the format is derived from the declaration."""

from toolglot.formats.declaration import (
    AlphanumericIds,
    Calls,
    Frame,
    OwnIds,
    RandomIds,
    Reasoning,
    TemplateIds,
    WireFormat,
)
from toolglot.formats.headed_call import HeadedCall
from toolglot.formats.json_call import JsonCall
from toolglot.formats.json_text import Json
from toolglot.formats.plugin import WireFormatParser

__all__ = [
    "AlphanumericIds",
    "Calls",
    "Frame",
    "HeadedCall",
    "Json",
    "JsonCall",
    "OwnIds",
    "RandomIds",
    "Reasoning",
    "TemplateIds",
    "WireFormat",
    "WireFormatParser",
]
