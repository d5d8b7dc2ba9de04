"""Break the code in one place after the other, and see that the conformance kit fails each time: ``nox -s mutants``.

A mutant that the kit does not see is a hole in the laws. Each runs in a copy; the first failing law ends it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
COPIED = ("core/src", "plugins/hermes")
FORMATS = "core/src/toolglot/formats/"
HERMES = "plugins/hermes/src/toolglot_hermes/__init__.py"
KIT = "plugins/hermes/tests/test_conformance.py"


class Mutant(NamedTuple):
    """One fault: in ``file`` each of ``edits`` replaces a text that stands there once."""

    name: str
    file: str
    edits: tuple[tuple[str, str], ...]


MUTANTS = (
    Mutant("an unchanged copy", HERMES, ()),
    Mutant(
        "half a marker is not held back",
        FORMATS + "markers.py",
        (
            ("return Hit(len(text) if eof else self._certain(text, at), NO, None)", "return Hit(len(text), NO, None)"),
            ("if hit.end != NO:", "if hit.end >= 0:"),
        ),
    ),
    Mutant(
        "the name must come first",
        FORMATS + "json_call.py",
        (
            (
                "        machine.settle()\n        if key == body.name and",
                (
                    "        if key != body.name and not self.named:\n"
                    "            raise machine.wrong()\n"
                    "        if key == body.name and"
                ),
            ),
        ),
    ),
    Mutant(
        "a closer inside a string ends the call",
        FORMATS + "json_text.py",
        (("if self.broken else _STRING)", "if True else _STRING)"),),
    ),
    Mutant("a string that is never closed never ends", FORMATS + "json_text.py", (("self.broken = True", "pass"),)),
    Mutant("the opener is misspelt", HERMES, (("<tool_call>\\n", "<toolcall>\\n"),)),
    Mutant("the closer is misspelt", HERMES, (("</tool_call>", "</toolcall>"),)),
    Mutant("the reasoning's closer is misspelt", HERMES, (("</think>", "</thinking>"),)),
    Mutant(
        "a call is announced at its name",
        FORMATS + "json_call.py",
        (
            ("        self.named = True\n", "        self.named = True\n        self.machine.begin()\n"),
            ("            self.machine.begin()\n            for", "            for"),
            ("return self.early.append\n        self.machine.begin()", "return self.early.append"),
        ),
    ),
    Mutant(
        "a named call is dropped at a cut",
        FORMATS + "machine.py",
        (("if self._named is None or not self.cut:", "if True:"),),
    ),
    Mutant(
        "a call that was cut is closed",
        FORMATS + "machine.py",
        (
            (
                '        self.rest("".join(self.trail or ())',
                '        self.arguments("}")\n        self.rest("".join(self.trail or ())',
            ),
        ),
    ),
    Mutant(
        "what is no call after all is dropped",
        FORMATS + "machine.py",
        (("else:\n            self._out.say_unparsed(self._give_back())", "else:\n            self._give_back()"),),
    ),
    Mutant(
        "whitespace before a call is content",
        FORMATS + "call_cursor.py",
        (("None, (), False\n        self._out.drop()", "None, (), False\n        self._out.release()"),),
    ),
    Mutant(
        "arguments are changed on their way",
        FORMATS + "call_cursor.py",
        (("            self._call.pieces.append(text)", '            text = text.replace("\\t", " ")'),),
    ),
    Mutant(
        "text that spells a marker is one beside tokens",
        FORMATS + "plugin.py",
        (("bound = bool(", "bound = False and bool("),),
    ),
)


def failing_laws(mutant: Mutant) -> list[str]:
    """Apply ``mutant`` to a copy, run the kit on it, and return the laws that fail; one is enough."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in COPIED:
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        _edit(folder / mutant.file, mutant)
        path = os.pathsep.join(
            str(folder / part / source) for part, source in (("core/src", ""), ("plugins/hermes", "src"))
        )
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-qx", "--tb=no", "-p", "no:cacheprovider", KIT],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{mutant.name}: the kit did not run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return re.findall(r"^FAILED \S+::(\w+)", done.stdout, re.MULTILINE)


def _edit(file: Path, mutant: Mutant) -> None:
    text = file.read_text()
    for old, new in mutant.edits:
        if text.count(old) != 1:
            raise SystemExit(
                f"{mutant.name}: {old!r} does not stand once in {mutant.file}; bring the mutant up to date"
            )
        text = text.replace(old, new)
    file.write_text(text)


def main() -> int:
    """Print the law that sees each mutant; the exit code says whether all were seen."""
    missed = 0
    for mutant in MUTANTS:
        laws = failing_laws(mutant)
        fine = bool(laws) == bool(mutant.edits)
        missed += not fine
        print(f"{'ok' if fine else 'MISSED'}  {mutant.name}: {', '.join(laws) or 'every law holds'}", flush=True)
    return missed != 0


if __name__ == "__main__":
    sys.exit(main())
