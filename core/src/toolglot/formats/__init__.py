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
from toolglot.formats.element_call import ElementCall
from toolglot.formats.headed_call import HeadedCall
from toolglot.formats.json_call import JsonCall
from toolglot.formats.json_text import Json
from toolglot.formats.map import Map
from toolglot.formats.nested import Nested
from toolglot.formats.plugin import WireFormatParser
from toolglot.formats.python_call import PythonCall
from toolglot.formats.response_template import response_template
from toolglot.formats.values import ByFlag, BySchema, ByType

__all__ = [
    "AlphanumericIds",
    "ByFlag",
    "BySchema",
    "ByType",
    "Calls",
    "ElementCall",
    "Frame",
    "HeadedCall",
    "Json",
    "JsonCall",
    "Map",
    "Nested",
    "OwnIds",
    "PythonCall",
    "RandomIds",
    "Reasoning",
    "TemplateIds",
    "WireFormat",
    "WireFormatParser",
    "response_template",
]
