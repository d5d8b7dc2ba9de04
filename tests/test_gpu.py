"""What ``nox -s gpu`` does, as far as that can be seen without a GPU."""

from __future__ import annotations

import json
from itertools import product

import pytest

pytest.importorskip("torch")
from benchmarks import gpu, gpu_checks
from benchmarks.gpu_checks import Check, compare
from core.tests.engine.flash_stand_ins import Gpu

from toolglot.engine import graphs
from toolglot.engine.protocol import TokenLogprobs
from toolglot.errors import EngineError

ON_CPU = ["--device", "cpu", "--size", "tiny", "--models", "llama"]


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def test_it_checks_and_measures_what_runs_here(tmp_path, capsys):
    gpu.main([*ON_CPU, "--json", str(tmp_path / "report.json")])

    report = json.loads((tmp_path / "report.json").read_text())
    verdicts = {check["attention"]: check["verdict"] for check in report["checks"]}
    assert verdicts["sdpa"] == "right"
    assert "it needs CUDA" in verdicts["flash2"]
    assert {speed["what"] for speed in report["speeds"]} == {"prefill", "decode", "engine"}
    assert all(speed["rate"] > 0 for speed in report["speeds"])
    assert [part.partition(":")[0] for part in report["left_out"]] == ["passes with flash2", "passes with flash4"]
    table = capsys.readouterr().out
    assert "| llama | sdpa | eager | right |" in table
    assert "| decode | sdpa | eager | 3 |" in table


def test_it_checks_and_measures_flash_and_graphs(monkeypatch, capsys):
    gpu_machine = Gpu(monkeypatch)
    gpu_machine.install_flash2()
    gpu_machine.install_flash4()
    monkeypatch.setattr(graphs, "capture_on", lambda device: lambda run: run)

    gpu.main([*ON_CPU[:-1], "mistral"])

    table = capsys.readouterr().out
    for attention, decoding in product(("flash2", "flash4"), ("eager", "graphs")):
        assert f"| mistral | {attention} | {decoding} | right |" in table
        assert f"| decode | {attention} | {decoding} | 3 |" in table
    assert "| engine | flash2 | graphs | 1 |" in table
    assert "| engine | flash2 | eager (graphs: none, as asked) | 1 |" in table
    assert "Left out" not in table


def test_a_wrong_result_is_an_error(monkeypatch):
    outputs = gpu_checks.outputs

    def wrong(path, tokenizer, settings):
        found = outputs(path, tokenizer, settings)
        return [([0] * len(tokens), logprobs) for tokens, logprobs in found] if wrong.after.pop(0) else found

    wrong.after = [False, False, True, True, True]
    monkeypatch.setattr(gpu_checks, "outputs", wrong)
    monkeypatch.setattr(gpu, "measure", lambda *_, **__: None)

    with pytest.raises(SystemExit, match="1 results are wrong, 0 are right"):
        gpu.main(ON_CPU)


def test_an_attention_that_fails_after_the_start_is_wrong(monkeypatch):
    outputs = gpu_checks.outputs

    def failing(path, tokenizer, settings):
        if settings[0] == "flash2":
            raise EngineError("generation failed (RuntimeError); the server's log has more")
        return outputs(path, tokenizer, settings)

    monkeypatch.setattr(gpu_checks, "outputs", failing)
    monkeypatch.setattr(gpu, "measure", lambda *_, **__: None)

    with pytest.raises(SystemExit, match="1 results are wrong, 1 are right"):
        gpu.main(ON_CPU)


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)

    with pytest.raises(SystemExit, match="torch sees no GPU here"):
        gpu.main([])


def test_what_there_is_no_time_for_is_left_out():
    report = gpu.Report({})

    gpu.check(report, ["llama", "qwen2"], until=0)

    assert report.left_out == ["llama: no time was left to check it", "qwen2: no time was left to check it"]


def said(*rows: tuple[int, dict[int, float]]) -> list[gpu_checks.Output]:
    return [
        ([token for token, _ in rows], [TokenLogprobs(top[token], tuple(top.items())) for token, top in rows])
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("other", "verdict", "near_ties"),
    [
        (said((1, {1: -0.11, 2: -2.0}), (3, {3: -0.70, 4: -0.70})), "right", 0),
        (said((1, {1: -0.11, 2: -2.0}), (4, {4: -0.65, 3: -0.71})), "right", 1),
        (said((2, {2: -0.05, 1: -0.11}), (3, {3: -0.70, 4: -0.70})), "wrong", 1),
        (said((2, {1: -0.1, 2: -2.0}), (3, {3: -0.70, 4: -0.70})), "wrong", 1),
        (said((1, {1: -0.40, 2: -2.0}), (3, {3: -0.70, 4: -0.70})), "wrong", 0),
        (said((1, {1: float("nan"), 2: -2.0}), (3, {3: -0.70, 4: -0.70})), "wrong", 0),
    ],
    ids=["the same", "a near tie", "another token", "not the most probable", "another probability", "nan"],
)
def test_results_may_differ_by_rounding_only(other, verdict, near_ties):
    check = Check("tiny", "flash2", "graphs", "right", allowed=0.1)

    compare(check, said((1, {1: -0.1, 2: -2.0}), (3, {3: -0.68, 4: -0.72})), other)

    assert (check.verdict, check.near_ties) == (verdict, near_ties)
