from __future__ import annotations

from pathlib import Path

import pytest
from platformdirs import user_cache_path

from toolglot.checkpoints.cache import cache_dir, fingerprint, make_once


def write(text: str):
    return lambda made: (made / "file").write_text(text)


def test_the_cache_is_the_users_unless_told_otherwise(monkeypatch, tmp_path):
    assert cache_dir() == tmp_path / "cache"
    monkeypatch.delenv("TOOLGLOT_CACHE")
    assert cache_dir() == user_cache_path("toolglot", appauthor=False)


def test_a_directory_is_made_once(tmp_path):
    target = tmp_path / "deep" / "target"

    assert make_once(target, write("first")) == target
    make_once(target, write("second"))
    assert (target / "file").read_text() == "first"


def test_a_failure_leaves_nothing_behind(tmp_path):
    def fail(made: Path) -> None:
        write("half")(made)
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        make_once(tmp_path / "deep" / "target", fail)
    assert list((tmp_path / "deep").iterdir()) == []


def test_of_two_that_make_the_same_the_first_wins(tmp_path):
    target = tmp_path / "deep" / "target"

    def overtaken(made: Path) -> None:
        write("slow")(made)
        make_once(target, write("fast"))

    assert make_once(target, overtaken) == target
    assert (target / "file").read_text() == "fast"
    assert list(target.parent.iterdir()) == [target]


@pytest.fixture
def checkpoint(tmp_path):
    def checkpoint(name: str, weights: bytes, config: str = "{}") -> Path:
        path = tmp_path / name
        path.mkdir()
        (path / "config.json").write_text(config)
        (path / "model.safetensors").write_bytes(weights)
        return path

    return checkpoint


def test_a_fingerprint_is_that_of_the_content(checkpoint):
    weights = bytes(40 << 20)
    other = weights[: 20 << 20] + b"x" + weights[1 + (20 << 20) :]
    first, moved = checkpoint("first", weights), checkpoint("moved", weights)
    (moved / "README.md").write_text("read me")

    assert fingerprint(first) == fingerprint(moved)
    others = [checkpoint("other", other), checkpoint("longer", weights + b"x"), checkpoint("set", weights, "[]")]
    assert len({fingerprint(path) for path in (first, *others)}) == 4
