"""What stands in for pydantic's models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from typing import Any, ClassVar, Self, get_args, get_type_hints


class Model:
    """Fields by keyword, undeclared ones too; where a field is a model, an object's members will do.

    Raises:
        TypeError: a field without a default is missing.
    """

    _fields: ClassVar[dict[str, type[Model] | None]] = {}
    """The declared fields, each with the model that it holds, alone or in a list."""

    def __init_subclass__(cls) -> None:
        hints = get_type_hints(cls)
        cls._fields = {name: _model_in(kind) for name, kind in hints.items() if not name.startswith("_")}

    def __init__(self, **fields: Any) -> None:
        self._given = frozenset(fields)
        for name, model in self._fields.items():
            if name in fields:
                setattr(self, name, _made(model, fields.pop(name)))
            elif hasattr(type(self), name):
                setattr(self, name, copy(getattr(type(self), name)))
            else:
                raise TypeError(f"{type(self).__name__} needs the field {name!r}")
        vars(self).update(fields)

    @property
    def model_fields_set(self) -> frozenset[str]:
        return self._given

    @classmethod
    def model_validate(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, **_: Any) -> Self:
        return type(self)(**{**self._values(), **(update or {})})

    def model_dump(self, *, exclude_none: bool = False, exclude_unset: bool = False, **_: Any) -> dict[str, Any]:
        return {
            name: _dumped(value, exclude_none=exclude_none, exclude_unset=exclude_unset)
            for name, value in self._values().items()
            if not (exclude_none and value is None) and not (exclude_unset and name not in self._given)
        }

    def model_dump_json(self, **options: Any) -> str:
        return json.dumps(self.model_dump(**options), ensure_ascii=False)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._values().items())})"

    def _values(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}


def _model_in(kind: Any) -> type[Model] | None:
    if isinstance(kind, type) and issubclass(kind, Model):
        return kind
    return next((found for part in get_args(kind) if (found := _model_in(part))), None)


def _made(model: type[Model] | None, value: Any) -> Any:
    if model is None:
        return value
    if isinstance(value, Mapping):
        return model(**value)
    return [_made(model, one) for one in value] if isinstance(value, list | tuple) else value


def _dumped(value: Any, **options: bool) -> Any:
    if isinstance(value, Model):
        return value.model_dump(**options)
    if isinstance(value, Mapping):
        return {key: _dumped(one, **options) for key, one in value.items()}
    return [_dumped(one, **options) for one in value] if isinstance(value, list | tuple) else value
