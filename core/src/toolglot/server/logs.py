"""The log: lines of text, or one JSON object a line; with the id of the request that each is about."""

from __future__ import annotations

import json
import logging
import time
from typing import Any, Literal, TypeAlias

from toolglot.server import record

LogFormat: TypeAlias = Literal["text", "json"]


def configure(level: str, form: LogFormat) -> None:
    """Log to standard error."""
    logging.basicConfig(level=level.upper(), handlers=[stderr_handler(form)])


def stderr_handler(form: LogFormat) -> logging.Handler:
    """What writes the log."""
    handler = logging.StreamHandler()
    handler.addFilter(_with_request_id)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    return handler


class TextFormatter(logging.Formatter):
    """A line for people. What belongs to a request ends in its id."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  logging's name
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        return super().formatMessage(record) + fields


class JsonFormatter(logging.Formatter):
    """An object for programs: ``time``, ``level``, ``logger``, ``message``, ``request_id``, and what else is known."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def _with_request_id(entry: logging.LogRecord) -> bool:
    """Note the request while its task still runs: some handlers format later, elsewhere."""
    if (request := record.current()) is not None:
        entry.request_id = request.id
    return True


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    own = getattr(record, "request_id", None)
    fields: dict[str, Any] = getattr(record, "fields", {})
    return fields if own is None else {"request_id": own, **fields}
