"""Chat templates (Jinja) for models whose own template has no tools, written for toolglot's formats."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["names", "read"]

_SUFFIX = ".jinja"


def names() -> list[str]:
    """The templates in this distribution, sorted, without the suffix ``.jinja``."""
    listed = (entry.name for entry in files(__name__).iterdir())
    return sorted(name.removesuffix(_SUFFIX) for name in listed if name.endswith(_SUFFIX))


def read(name: str) -> str:
    """The text of the template ``name``, given with or without ``.jinja``.

    Raises:
        KeyError: there is no template of this name.
    """
    stem = name.removesuffix(_SUFFIX)
    if stem not in names():
        raise KeyError(name)
    return files(__name__).joinpath(stem + _SUFFIX).read_text("utf-8")
