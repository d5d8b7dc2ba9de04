"""What schemas call the types of JSON, which may be another language's names."""

from __future__ import annotations

from typing import Any

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")
_ALIASES = {
    "str": "string", "text": "string", "char": "string", "int": "integer", "long": "integer", "float": "number",
    "double": "number", "bool": "boolean", "none": "null", "nonetype": "null", "list": "array", "tuple": "array",
    "arraylist": "array", "dict": "object", "map": "object", "hashmap": "object",
}  # fmt: skip
"""What schemas of Python and Java programs call the types."""


def type_names(declared: Any) -> list[str]:
    """JSON Schema's names of the types that a schema's ``type`` names, which may use another language's. Names of no
    type are left out.
    """
    names = [name.lower() for name in (declared if isinstance(declared, list) else [declared]) if isinstance(name, str)]
    if "any" in names:
        return list(TYPES)
    return [name for name in dict.fromkeys(_ALIASES.get(name, name) for name in names) if name in TYPES]
