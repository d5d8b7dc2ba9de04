from __future__ import annotations

import sys
import time

import pytest
from transformers.utils import logging as chatter

from toolglot.checkpoints.progress import progress, quiet_transformers


@pytest.fixture
def terminal(monkeypatch, capsys):
    # pytest makes a new stream for each phase of a test: the class stays.
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)
    monkeypatch.setenv("TERM", "xterm")


def test_off_a_terminal_there_is_a_line_at_start_and_end(capsys):
    with progress("Working") as report:
        report(1, 2)

    started, ended = capsys.readouterr().err.splitlines()
    assert started == "Working ..."
    assert ended.startswith("Working: done in ")


@pytest.mark.parametrize("settings", [{"quiet": True}, {"lines": False}])
def test_it_can_be_silent(settings, capsys):
    with progress("Working", **settings) as report:
        report(1, 2)

    assert capsys.readouterr().err == ""


def test_on_a_terminal_there_is_a_bar(terminal, capsys):
    with progress("Working") as report:
        report(1, 2)

    shown = capsys.readouterr().err
    assert "Working" in shown
    assert "50%" in shown


def test_a_bar_waits_for_slow_work(terminal, capsys):
    with progress("Quick", delay=60) as report:
        report(1, 2)
    with progress("Slow", delay=0.01) as report:
        time.sleep(0.02)
        report(1, 2)

    shown = capsys.readouterr().err
    assert "Quick" not in shown
    assert "Slow" in shown


def test_transformers_bars_become_reports(capfd):
    reports = []
    with quiet_transformers(lambda done, total: reports.append((done, total))):
        for _ in chatter.tqdm(["a", "b"], desc="Loading"):
            pass
        with chatter.tqdm(total=10) as bar:
            bar.set_description("more")
            bar.update(4)
        chatter.get_logger("transformers.anything").warning("hush")

    assert reports == [(1, 2), (2, 2), (4, 10)]
    assert capfd.readouterr() == ("", "")


def test_transformers_speaks_again_afterwards():
    before = chatter.get_verbosity()
    with quiet_transformers():
        pass

    assert chatter.get_verbosity() == before
    assert chatter.set_tqdm_hook(None) is None
