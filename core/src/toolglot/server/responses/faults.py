"""Errors of what all APIs share, in the words of this one's fields."""

from __future__ import annotations

import re

from toolglot.errors import GrammarError, RequestError, ToolglotError
from toolglot.server.errors import ApiError
from toolglot.server.response_format import SCHEMA

_TOOL = re.compile(r"(tools\[\d+\])\.function\.")


def in_own_words(error: ToolglotError) -> ToolglotError:
    """The same error, its ``param`` and message with the names that fields have in the Responses API."""
    match error:
        case ApiError(param=str(param)):
            error.param = _param(param)
        case GrammarError(param=str(param)):
            return GrammarError(_message(str(error)), param=_param(param))
        case RequestError(param=str(param)):
            return RequestError(_message(str(error)), param=_param(param))
    return error


def _param(param: str) -> str:
    if param in (SCHEMA, "response_format"):
        return "text.format.schema"
    if param == "messages":
        return "input"
    return _TOOL.sub(r"\1.", param)


def _message(message: str) -> str:
    return message.replace("`response_format`", "`text.format`")
