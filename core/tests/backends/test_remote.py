"""An engine elsewhere: what is sent to it, what is read from it, and everything that can go wrong in between."""

from __future__ import annotations

import asyncio
import time
from random import Random

import pytest

from toolglot.backends.dialect import RemoteConstraint
from toolglot.backends.dialects import DIALECTS
from toolglot.backends.faults import RefusedError, ReplicaError
from toolglot.backends.replicas import Policy
from toolglot.engine.protocol import SamplingParams
from toolglot.errors import (
    EngineError,
    EngineUnavailableError,
    GrammarError,
    QueueFullError,
    RequestError,
    UnenforceableError,
)
from toolglot.structural_tag import ConstString, StructuralTag, Token

TEXT = "Grüße, 世界 😀 <tool_call>\n{}</tool_call> <b"


class TestReplies:
    async def test_text_comes_back_as_it_was_written(self, kind, stand_in, engine_for, written):
        one = await stand_in(kind, text=TEXT)
        text, deltas = await written(await engine_for(one))
        assert text == TEXT
        assert (deltas[-1].finish, {delta.finish for delta in deltas[:-1]}) == ("stop", {None})

    async def test_markers_are_tokens(self, kind, stand_in, engine_for, written, tokenizer):
        _, deltas = await written(await engine_for(await stand_in(kind, text="a<tool_call>b")))
        ids = [token for delta in deltas for token in delta.token_ids]
        assert ids == tokenizer.encode("a<tool_call>b", add_special_tokens=False)

    async def test_tokens_come_as_they_are_written(self, kind, stand_in, engine_for, written):
        one = await stand_in(kind, text="abc", delay=0.05)
        deltas = (await engine_for(one)).submit((1,), SamplingParams(max_tokens=9))
        assert len((await anext(deltas)).token_ids) == 1
        assert one.running == 1
        await deltas.aclose()

    async def test_the_token_that_ends_it_is_told_apart(self, stand_in, engine_for, written, tokenizer):
        for kind in ("vllm", "sglang", "llamacpp"):
            _, deltas = await written(await engine_for(await stand_in(kind)))
            assert deltas[-1].stop_token == tokenizer.eos_token_id

    async def test_max_tokens_cuts(self, kind, stand_in, engine_for, written):
        text, deltas = await written(await engine_for(await stand_in(kind, text="abcdef")), max_tokens=3)
        assert (text, deltas[-1].finish) == ("abc", "length")

    async def test_a_token_of_the_request_stops(self, stand_in, engine_for, written, eventually, tokenizer):
        (stop,) = tokenizer.encode("d", add_special_tokens=False)
        for kind in ("vllm", "sglang", "llamacpp"):
            one = await stand_in(kind, text="abcdef")
            text, deltas = await written(await engine_for(one), stop_token_ids=frozenset({stop}))
            assert (text, deltas[-1].finish, deltas[-1].stop_token) == ("abc", "stop", stop)
            await eventually(lambda one=one: one.running == 0)

    async def test_cached_tokens_are_told(self, stand_in, engine_for, written):
        for kind in ("vllm", "sglang", "llamacpp"):
            _, deltas = await written(await engine_for(await stand_in(kind)))
            assert sum(delta.cached_tokens for delta in deltas) == 3

    async def test_probabilities_are_told_for_each_token(self, stand_in, engine_for, written):
        for kind in ("vllm", "sglang", "llamacpp"):
            _, deltas = await written(await engine_for(await stand_in(kind, text="ab")), logprobs=2)
            told = [one for delta in deltas for one in delta.logprobs]
            assert [one.logprob for one in told] == [-0.5, -0.5]
            assert {one.top[0] for one in told} == {(0, -0.1)}
            assert all(len(delta.logprobs) == len(delta.token_ids) for delta in deltas)

    @pytest.mark.parametrize("settings", [{"incremental": True}, {"ahead": True}, {}])
    async def test_sglang_tells_all_tokens_or_the_new_ones(self, stand_in, engine_for, written, settings):
        one = await stand_in("sglang", text="aaabab" + TEXT, **settings)
        for logprobs in (None, 1):
            text, deltas = await written(await engine_for(one), logprobs=logprobs)
            assert text == "aaabab" + TEXT
            assert all(logprobs is None or len(delta.logprobs) == len(delta.token_ids) for delta in deltas)

    async def test_llamacpp_has_no_probabilities_inside_characters_and_that_is_said(
        self, stand_in, engine_for, written
    ):
        with pytest.raises(EngineError, match="inside a character"):
            await written(await engine_for(await stand_in("llamacpp", text="ü")), logprobs=1)


class TestRequests:
    async def test_all_that_tokens_are_chosen_by_is_sent(self, kind, stand_in, engine_for, written):
        one = await stand_in(kind)
        asked = {
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": 7,
            "min_p": 0.1,
            "seed": 5,
            "ignore_eos": True,
            "presence_penalty": 0.3,
            "frequency_penalty": 0.4,
            "repetition_penalty": 1.1,
            "logit_bias": {7: 2.0},
            "min_tokens": 1,
            "cache_salt": b"ab",
        }
        takes = DIALECTS[kind].capabilities.takes | {"temperature", "top_p"}
        await written(await engine_for(one), **{name: value for name, value in asked.items() if name in takes})
        sent = one.requests[-1]
        sent = {**sent, **sent.get("sampling_params", {})}
        names = {
            "sglang": {"min_tokens": "min_new_tokens"},
            "llamacpp": {"repetition_penalty": "repeat_penalty"},
        }.get(kind, {})
        values = {"logit_bias": [[7, 2.0]] if kind == "llamacpp" else {"7": 2.0}, "cache_salt": "6162"}
        for name in takes - {"stop_token_ids", "logprobs"}:
            assert sent[names.get(name, name)] == values.get(name, asked[name])
        assert (sent.get("input_ids") or sent["prompt"]) == [1, 2, 3, 4]

    async def test_what_the_engine_does_not_obey_is_refused_by_name(self, stand_in, engine_for):
        one = await stand_in("openai")
        engine = await engine_for(one)
        refused = ("min_p", 0.1), ("top_k", 5), ("ignore_eos", True), ("logprobs", 2), ("min_tokens", 3)
        for name, value in (*refused, ("repetition_penalty", 1.2), ("stop_token_ids", frozenset({1}))):
            with pytest.raises(RequestError, match=f"`{name}`: the engine behind this server") as caught:
                engine.submit((1,), SamplingParams(max_tokens=9, **{name: value}))
            assert caught.value.param == name
        assert one.requests == []

    async def test_sglang_takes_seeds_where_it_is_deterministic(self, stand_in, engine_for):
        engine = await engine_for(await stand_in("sglang"))
        with pytest.raises(RequestError, match="`seed`"):
            engine.submit((1,), SamplingParams(max_tokens=9, seed=1))
        assert "seed" in DIALECTS["sglang"]().takes({"enable_deterministic_inference": True})

    async def test_as_many_run_as_may(self, stand_in, engine_for, written):
        engine = await engine_for(await stand_in(delay=5), max_running=1)
        first = asyncio.ensure_future(written(engine))
        await asyncio.sleep(0.05)
        with pytest.raises(QueueFullError):
            engine.submit((1,), SamplingParams(max_tokens=9))
        first.cancel()
        await asyncio.wait([first])
        assert engine.running == 0


class TestGrammars:
    async def test_a_tag_is_compiled_here_and_sent_as_the_engine_takes_it(self, stand_in, engine_for, written):
        engine = await engine_for(await stand_in("vllm", text="no"))
        constraint = await engine.compile(StructuralTag(ConstString("yes")))
        assert (await written(engine, constraint=constraint))[0] == "yes"
        assert (await written(engine))[0] == "no"
        with pytest.raises(GrammarError, match="tokens that this model does not have"):
            await engine.compile(StructuralTag(Token(10**6)))
        one = await stand_in("sglang", text="no")
        assert (await written(await engine_for(one), constraint=constraint))[0] == "yes"

    async def test_llamacpp_takes_gbnf_and_is_told_the_tokens_that_may_not_occur(
        self, stand_in, engine_for, written, tokenizer
    ):
        one = await stand_in("llamacpp", text="no")
        marker = tokenizer.convert_tokens_to_ids("<tool_call>")
        grammar = DIALECTS["llamacpp"]().lower(StructuralTag(ConstString("yes")).to_json(), {})
        constraint = RemoteConstraint(grammar, banned=frozenset({marker}))
        assert (await written(await engine_for(one), constraint=constraint))[0] == "yes"
        assert one.requests[-1]["grammar"] == 'root ::= "yes"\n'
        assert one.requests[-1]["logit_bias"] == [[marker, False]]

    async def test_the_others_are_told_by_a_bias(self, stand_in, engine_for, written):
        for kind in ("vllm", "sglang"):
            one = await stand_in(kind)
            constraint = RemoteConstraint('{"format": {"type": "any_text"}}', banned=frozenset({7, 8}))
            await written(await engine_for(one), constraint=constraint, logit_bias={3: 2.0, 7: 5.0})
            sent = {**one.requests[-1], **one.requests[-1].get("sampling_params", {})}
            assert sent["logit_bias"] == {"3": 2.0, "7": -100.0, "8": -100.0}

    async def test_a_token_that_ends_the_reply_may_be_a_marker_of_its_grammar(
        self, stand_in, engine_for, written, tokenizer
    ):
        end = tokenizer.eos_token_id
        constraint = RemoteConstraint('{"format": {"type": "any_text"}}', named=frozenset({end}))
        text, deltas = await written(await engine_for(await stand_in(text="yes")), constraint=constraint)
        assert text == "yes" + tokenizer.decode([end])
        assert (deltas[-1].finish, deltas[-1].stop_token) == ("stop", None)

    async def test_an_engine_without_grammars_says_so(self, stand_in, engine_for):
        engine = await engine_for(await stand_in("openai"))
        with pytest.raises(UnenforceableError, match="openai"):
            await engine.compile(StructuralTag(ConstString("yes")))


BROKEN = {
    "dies": "broke off its answer",
    "ends": "before the reply was over",
    "garbage": "no answer of its kind",
    "cut line": "in the middle of a line",
    "stalls": "sent nothing for 1 s",
    "pings": "sent nothing for 1 s",
}


async def told_until(engine, message):
    """How many tokens a reply has until it fails with this message."""
    told = []

    async def read():
        async for delta in engine.submit((1,), SamplingParams(max_tokens=9)):
            told.extend(delta.token_ids)

    with pytest.raises(ReplicaError, match=message):
        await read()
    return len(told)


FAULTS = [
    (kind, fault) for fault in BROKEN for kind in DIALECTS if kind == "vllm" or "sent nothing" not in BROKEN[fault]
]
"""Time passes in the same way for all."""


class TestFaults:
    @pytest.mark.parametrize(("kind", "fault"), FAULTS)
    async def test_what_breaks_off_is_told_once_and_frees_its_slot(
        self, kind, fault, stand_in, engine_for, written, eventually
    ):
        one = await stand_in(kind, text="abcdef", fault=fault, after=3, times=1)
        engine = await engine_for(one)
        assert await told_until(engine, BROKEN[fault]) == 3
        assert engine.running == 0
        await eventually(lambda: one.running == 0)
        assert (await written(engine))[0] == "abcdef"

    @pytest.mark.parametrize("fault", [500, 502, "dies", "garbage", "ends"])
    async def test_what_fails_before_the_first_token_is_tried_elsewhere(self, fault, stand_in, engine_for, written):
        bad, good = await stand_in(text="abc", fault=fault), await stand_in(text="abc")
        engine = await engine_for(bad, good, policy=Policy(failures=100))
        for number in range(8):
            assert (await written(engine, prompt=(number,)))[0] == "abc"
        assert bad.requests
        assert len(good.requests) == 8

    async def test_what_fails_after_it_is_not(self, stand_in, engine_for):
        ones = [await stand_in(text="abc", fault="dies", after=2) for _ in range(2)]
        assert await told_until(await engine_for(*ones), "broke off") == 2
        assert sum(len(one.requests) for one in ones) == 1

    async def test_a_refused_request_is_tried_nowhere_else(self, stand_in, engine_for, written):
        ones = [await stand_in(fault=400) for _ in range(2)]
        with pytest.raises(RefusedError, match="refuses the request: 400 Bad Request: because"):
            await written(await engine_for(*ones))
        assert sum(len(one.requests) for one in ones) == 1

    async def test_an_engine_that_is_full_makes_the_server_full(self, stand_in, engine_for, written):
        for status, after in ((429, "7"), (503, "")):
            one = await stand_in(fault=status, retry_after=after, times=1)
            engine = await engine_for(one)
            with pytest.raises(QueueFullError) as caught:
                await written(engine)
            assert caught.value.retry_after == int(after or 1)
            assert (await written(engine))[0] == "Hello"

    async def test_errors_in_an_answer_are_told(self, kind, stand_in, engine_for, written):
        one = await stand_in(kind)

        async def broken(body, tokens):
            yield b'data: {"error": {"message": "out of memory", "code": 500}}\n\n'

        setattr(one, f"_{kind}", broken)
        engine = await engine_for(one)
        with pytest.raises(RefusedError if kind == "sglang" else EngineUnavailableError, match="out of memory"):
            await written(engine)

    async def test_sglang_tells_aborts_in_its_answers(self, stand_in, engine_for, written):
        one = await stand_in("sglang")
        reason = {"type": "abort", "message": "bad grammar", "status_code": 400}

        async def broken(body, tokens):
            yield {"output_ids": [], "meta_info": {"completion_tokens": 0, "finish_reason": reason}}

        one._sglang = broken
        engine = await engine_for(one)
        with pytest.raises(RefusedError, match="bad grammar"):
            await written(engine)
        reason["status_code"] = 503
        with pytest.raises(QueueFullError):
            await written(engine)

    async def test_an_engine_that_is_not_there_is_told(self, stand_in, engine_for, written):
        one = await stand_in()
        await one.server.kill()
        engine = await engine_for(one)
        with pytest.raises(EngineUnavailableError, match="cannot be reached"):
            await written(engine)
        assert engine.running == 0

    async def test_it_is_used_again_after_a_restart(self, stand_in, engine_for, written):
        one = await stand_in(text="abcdef", delay=0.05)
        engine = await engine_for(one, policy=Policy(rest=0.05))
        stream = engine.submit((1,), SamplingParams(max_tokens=9))
        await anext(stream)
        await one.server.kill()
        with pytest.raises(ReplicaError):
            async for _ in stream:
                pass
        with pytest.raises(EngineUnavailableError):
            await written(engine)
        await one.server.start()
        assert (await written(engine))[0] == "abcdef"
        assert engine.running == 0

    async def test_a_connection_that_was_closed_while_it_was_kept_costs_nothing(self, engine_for, stand_in, written):
        """Each connection answers one request, says that it may be kept, and is closed when the next request comes."""
        one = await stand_in()
        served = []

        async def serve(reader, writer):
            for number in range(2):
                head = await reader.readuntil(b"\r\n\r\n")
                if b"GET" in head:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    break
                size = next(
                    int(line.split(b":")[1]) for line in head.splitlines() if line.startswith(b"Content-Length")
                )
                await reader.readexactly(size)
                served.append(number)
                if number:
                    break
                answer = b'data: {"choices": [{"token_ids": [72], "finish_reason": "length"}]}\n\ndata: [DONE]\n\n'
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))
                await writer.drain()
            writer.close()

        await one.server.kill()
        server = await asyncio.start_server(serve, "127.0.0.1", one.server.port)
        engine = await engine_for(one)
        for _ in range(2):
            await written(engine, max_tokens=1)
        assert served == [0, 1, 0]
        server.close()


class TestCancel:
    async def test_closing_the_stream_hangs_up(self, kind, stand_in, engine_for, eventually):
        one = await stand_in(kind, text="abcdef" * 9, delay=0.01)
        engine = await engine_for(one)
        stream = engine.submit((1,), SamplingParams(max_tokens=90))
        await anext(stream)
        await stream.aclose()
        await eventually(lambda: one.hung_up == 1 and one.running == 0)
        assert engine.running == 0
        if kind == "sglang":
            await eventually(lambda: one.aborted == [one.requests[-1]["rid"]])

    async def test_so_does_cancelling_who_waits_for_the_first_token(self, stand_in, engine_for, written, eventually):
        one = await stand_in(delay=5)
        engine = await engine_for(one)
        waiting = asyncio.ensure_future(written(engine))
        await eventually(lambda: one.running == 1)
        waiting.cancel()
        await asyncio.wait([waiting])
        await eventually(lambda: one.hung_up == 1 and one.running == 0)
        assert engine.running == 0

    async def test_a_whole_reply_is_not_aborted_and_its_connection_is_kept(self, kind, stand_in, engine_for, written):
        one = await stand_in(kind)
        engine = await engine_for(one)
        for _ in range(3):
            await written(engine)
        assert (one.hung_up, one.aborted) == (0, [])
        assert len(one.server._server.server_state.connections) <= 2  # one is of the check of health

    async def test_whoever_runs_when_it_stops_is_told(self, stand_in, engine_for, eventually, written):
        one = await stand_in(delay=5)
        engine = await engine_for(one)
        waiting = asyncio.ensure_future(written(engine))
        await eventually(lambda: one.running == 1)
        stopped = time.monotonic()
        await engine.stop()
        with pytest.raises(EngineError, match="the server stops"):
            await waiting
        assert time.monotonic() - stopped < 1
        with pytest.raises(EngineError, match="not running"):
            engine.submit((1,), SamplingParams(max_tokens=1))
        await engine.start()
        one.delay = 0.0
        assert (await written(engine))[0] == "Hello"

    async def test_no_slot_leaks_whatever_happens(self, stand_in, engine_for, eventually):
        """Sixty requests to two replicas that fail now and then, a third of which are given up."""
        ones = [await stand_in("sglang", text="abcdef", delay=0.002) for _ in range(2)]
        engine = await engine_for(*ones, policy=Policy(failures=10**6))
        random = Random(7)

        async def ask(number):
            one = random.choice(ones)
            one.fault = random.choice(("", "dies", "garbage", "ends", 500, 429))
            one.after = random.randrange(4)
            stream = engine.submit((number,), SamplingParams(max_tokens=9))
            told = []
            try:
                async for delta in stream:
                    told += delta.token_ids
                    if number % 3 == 0 and len(told) > number % 5:
                        return
                assert len(told) == 6
            except EngineError:
                pass
            finally:
                await stream.aclose()

        async def ask_in_a_row(number):
            for again in range(5):
                await ask(number + again)

        await asyncio.gather(*map(ask_in_a_row, range(0, 60, 5)))
        assert engine.running == 0
        assert [one.load for one in engine._replicas.all] == [0, 0]
        await eventually(lambda: all(one.running == 0 for one in ones))
        for one in ones:
            one.fault = ""


class TestReplicas:
    async def test_those_that_are_not_well_get_nothing(self, stand_in, engine_for, written, eventually):
        ill, well = await stand_in(health=500), await stand_in()
        engine = await engine_for(ill, well)
        await eventually(lambda: not engine._replicas.all[0].healthy)
        for number in range(6):
            await written(engine, prompt=(number,))
        assert (len(ill.requests), len(well.requests)) == (0, 6)
        assert engine.ready

    async def test_one_that_drains_ends_what_it_has(self, stand_in, engine_for, written, eventually):
        one = await stand_in(text="abcdef", delay=0.02)
        engine = await engine_for(one)
        running = asyncio.ensure_future(written(engine))
        await eventually(lambda: one.running == 1)
        one.health = 503
        await engine._check(engine._replicas.all[0])
        with pytest.raises(EngineUnavailableError):
            await written(engine)
        assert not engine.ready
        assert (await running)[0] == "abcdef"

    async def test_one_that_fails_again_and_again_rests(self, stand_in, engine_for, written):
        bad, good = await stand_in(fault=500), await stand_in()
        engine = await engine_for(bad, good, policy=Policy(failures=2, rest=60))
        for number in range(12):
            assert (await written(engine, prompt=(number,)))[0] == "Hello"
        assert (len(bad.requests), len(good.requests)) == (2, 12)

    async def test_the_only_one_is_tried_by_one_request_at_a_time(self, stand_in, engine_for, written, eventually):
        one = await stand_in(fault=500)
        engine = await engine_for(one, policy=Policy(failures=2, rest=60))
        for _ in range(3):
            with pytest.raises(EngineUnavailableError):
                await written(engine)
        one.fault, one.delay = "", 0.05
        trial = asyncio.ensure_future(written(engine))
        await eventually(lambda: one.running == 1)
        with pytest.raises(EngineUnavailableError, match="all replicas failed of late"):
            await written(engine)
        assert (await trial)[0] == "Hello"
        assert (await written(engine))[0] == "Hello"

    async def test_prompts_that_begin_alike_go_to_the_same(self, stand_in, engine_for, written):
        ones = [await stand_in() for _ in range(3)]
        engine = await engine_for(*ones, policy=Policy(prefix_tokens=4))
        for number in range(6):
            await written(engine, prompt=(9, 8, 7, 6, number))
        assert sorted(len(one.requests) for one in ones) == [0, 0, 6]
