"""The replay engine: what its file may hold, which output is next, and how it is held to grammars."""

from __future__ import annotations

import asyncio
import time

import pytest

import toolglot
from toolglot.backends.byte_tokenizer import END, TURN, byte_tokenizer, marker_tokens
from toolglot.backends.playlist import Playlist
from toolglot.backends.prepared import PreparedOutput, read_outputs
from toolglot.backends.replay import ReplayEngine
from toolglot.engine.protocol import SamplingParams
from toolglot.errors import EngineError, ModelError, QueueFullError
from toolglot.structural_tag import ConstString, StructuralTag
from toolglot.vocabulary import added_tokens


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer(toolglot.load_parser("hermes").plugin.form)


class TestFile:
    def test_a_line_is_an_output(self, tmp_path):
        path = tmp_path / "outputs.jsonl"
        path.write_text('{"output": "Hi", "chunks": [2, 1], "delay": 0.5, "match": "x"}\n\n{"output": [1, 2]}\n')
        assert read_outputs(path, 9) == (
            PreparedOutput("Hi", chunks=(2, 1), delay=0.5, match="x"),
            PreparedOutput((1, 2)),
        )

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("{", "outputs.jsonl:2"),
            ('{"output": 5}', "`$.output`"),
            ("{}", "`output`"),
            ('{"output": "x", "chunk": 2}', "`chunk`"),
            ('{"output": "x", "chunks": 0}', "`$.chunks`"),
            ('{"output": "x", "chunks": []}', "`$.chunks`"),
            ('{"output": "x", "finish": "end"}', "`$.finish`"),
            ('{"output": [-1]}', "`$.output"),
            ('{"output": [8, 9]}', "token 9; the model's tokens are 0 to 8"),
            ('{"output": "x", "delay": -1}', "`$.delay`"),
        ],
    )
    def test_one_that_is_none_is_named(self, tmp_path, line, said):
        path = tmp_path / "outputs.jsonl"
        path.write_text(f'{{"output": "Hi"}}\n{line}\n')
        with pytest.raises(ModelError, match=r"outputs\.jsonl:2") as caught:
            read_outputs(path, 9)
        assert said in str(caught.value)

    def test_a_file_without_one_is_refused(self, tmp_path):
        (tmp_path / "empty").write_text("\n")
        with pytest.raises(ModelError, match="holds no output"):
            read_outputs(tmp_path / "empty", 9)
        with pytest.raises(ModelError, match="No such file"):
            read_outputs(tmp_path / "nothing", 9)


class TestOrder:
    def test_the_last_comes_again_and_again(self):
        playlist = Playlist([PreparedOutput("a"), PreparedOutput("b")])
        assert [playlist.next("").output for _ in range(4)] == ["a", "b", "b", "b"]

    def test_each_match_is_a_list_of_its_own(self):
        playlist = Playlist(
            [
                PreparedOutput("a", match="one"),
                PreparedOutput("b", match="two"),
                PreparedOutput("c", match="one"),
                PreparedOutput("d"),
            ]
        )
        asked = ["is two", "one", "neither", "one and two", "two"]
        assert [playlist.next(prompt).output for prompt in asked] == ["b", "a", "d", "c", "b"]

    def test_without_an_output_for_all_others_there_is_none(self):
        assert Playlist([PreparedOutput("a", match="one")]).next("two") is None


@pytest.mark.parametrize(
    ("chunks", "sizes"), [(1, [1] * 5), (2, [2, 2, 1]), (9, [5]), ((1, 3), [1, 3, 1]), ((2, 1), [2, 1, 1, 1])]
)
def test_chunks_are_numbers_of_tokens(chunks, sizes):
    steps = list(PreparedOutput("", chunks=chunks).steps([1, 2, 3, 4, 5]))
    assert [len(step) for step in steps] == sizes
    assert [token for step in steps for token in step] == [1, 2, 3, 4, 5]


@pytest.fixture
async def replaying(tokenizer):
    """An engine for these outputs."""
    engines = []

    async def make(*outputs, max_running=10):
        engine = ReplayEngine(outputs, tokenizer, name="m", max_model_len=100, max_running=max_running)
        await engine.start()
        engines.append(engine)
        return engine

    yield make
    for engine in engines:
        await engine.stop()


async def written(engine, prompt=(1,), constraint=None, **sampling):
    """The text of a reply, and its last delta."""
    params = SamplingParams(**{"max_tokens": 90, **sampling})
    deltas = [delta async for delta in engine.submit(prompt, params, constraint)]
    ids = [token for delta in deltas for token in delta.token_ids]
    return engine._tokenizer.decode(ids, skip_special_tokens=False), deltas[-1]


class TestReplies:
    async def test_they_are_as_prepared(self, replaying):
        engine = await replaying(PreparedOutput("Gr\u00fc\u00dfe <tool_call>x"), PreparedOutput("cut", finish="length"))
        assert (await written(engine))[0] == "Gr\u00fc\u00dfe <tool_call>x"
        assert (await written(engine))[1].finish == "length"
        assert engine.running == 0

    async def test_token_ids_are_replayed_as_they_are(self, replaying, tokenizer):
        ids = tuple(tokenizer.encode("yes", add_special_tokens=False))
        assert (await written(await replaying(PreparedOutput(ids))))[0] == "yes"

    async def test_max_tokens_cuts(self, replaying):
        text, last = await written(await replaying(PreparedOutput("abcdef", chunks=4)), max_tokens=5)
        assert (text, last.finish) == ("abcde", "length")
        text, last = await written(await replaying(PreparedOutput("abc")), max_tokens=4)
        assert (text, last.finish) == ("abc", "stop")

    async def test_a_token_of_the_request_stops(self, replaying, tokenizer):
        (stop,) = tokenizer.encode("d", add_special_tokens=False)
        text, last = await written(await replaying(PreparedOutput("abcdef")), stop_token_ids=frozenset({stop}))
        assert (text, last.finish) == ("abc", "stop")

    async def test_probabilities_are_certain(self, replaying):
        engine = await replaying(PreparedOutput("ab", chunks=2))
        first = await anext(engine.submit((1,), SamplingParams(max_tokens=9, logprobs=3)))
        assert [(one.logprob, len(one.top)) for one in first.logprobs] == [(0.0, 1), (0.0, 1)]

    async def test_the_prompt_chooses(self, replaying, tokenizer):
        engine = await replaying(PreparedOutput("Oslo!", match="Oslo"), PreparedOutput("else"))
        assert (await written(engine, tokenizer.encode("about Oslo")))[0] == "Oslo!"
        assert (await written(engine, tokenizer.encode("about Rome")))[0] == "else"

    async def test_a_prompt_that_none_is_for_is_told(self, replaying):
        engine = await replaying(PreparedOutput("a", match="Oslo"))
        with pytest.raises(EngineError, match="no prepared output is for this prompt"):
            engine.submit((1,), SamplingParams(max_tokens=1))

    async def test_delays_are_kept(self, replaying):
        begun = time.monotonic()
        await written(await replaying(PreparedOutput("abc", delay=0.05)))
        assert 0.15 <= time.monotonic() - begun < 1

    async def test_it_can_fail_as_prepared(self, replaying):
        engine = await replaying(PreparedOutput("abc", error="the device was lost"))
        with pytest.raises(EngineError, match="the device was lost"):
            await written(engine)
        assert engine.running == 0

    async def test_many_at_once_are_refused(self, replaying):
        engine = await replaying(PreparedOutput("abc", delay=9), max_running=1)
        first = engine.submit((1,), SamplingParams(max_tokens=9))
        waiting = asyncio.ensure_future(anext(first))
        await asyncio.sleep(0.01)
        with pytest.raises(QueueFullError):
            engine.submit((1,), SamplingParams(max_tokens=9))
        waiting.cancel()
        await asyncio.wait([waiting])
        assert engine.running == 0


class TestGrammar:
    """One engine: what compiles grammars is a process of its own."""

    @pytest.fixture
    async def engine_and_tag(self, replaying):
        engine = await replaying(
            PreparedOutput("yes"), PreparedOutput("yet"), PreparedOutput("ye"), PreparedOutput("yet", unchecked=True)
        )
        return engine, await engine.compile(StructuralTag(ConstString("yes")))

    async def test_what_it_admits_passes_and_what_breaks_it_is_told_where(self, engine_and_tag):
        engine, tag = engine_and_tag
        assert (await written(engine, constraint=tag))[0] == "yes"
        with pytest.raises(EngineError, match="after 'ye' \\(2 tokens\\) 't' may not come; `unchecked` lets it"):
            await written(engine, constraint=tag)
        with pytest.raises(EngineError, match="after 'ye' \\(2 tokens\\) it may not end"):
            await written(engine, constraint=tag)
        assert (await written(engine, constraint=tag))[0] == "yet"


class TestTokenizer:
    @pytest.mark.parametrize("name", ["hermes", "mistral", "gptoss", "deepseek_v31", "glm45", "kimi_k2"])
    def test_it_has_the_markers_of_the_format_as_tokens(self, name):
        form = toolglot.load_parser(name).plugin.form
        tokenizer = byte_tokenizer(form)
        bound = toolglot.load_parser(name, tokenizer=tokenizer)
        assert marker_tokens(form)
        assert bound.marker_ids <= set(added_tokens(tokenizer).values())
        assert len(bound.marker_ids) == len(marker_tokens(form))

    def test_any_text_comes_back(self, tokenizer):
        text = "Gr\u00fc\u00dfe, \u4e16\u754c \U0001f600\n\t<tool_call> <b>"
        assert tokenizer.decode(tokenizer.encode(text)) == text

    def test_its_template_writes_every_turn_and_tool(self, tokenizer):
        messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}]
        tool = {"type": "function", "function": {"name": "f"}}
        text = tokenizer.apply_chat_template(messages, tools=[tool], tokenize=False, add_generation_prompt=True)
        assert text.count(TURN) == 4
        assert text.count(END) == 3
        assert '"name": "f"' in text
        assert text.endswith(f"{TURN}assistant\n")

    def test_it_lets_a_model_reason_that_does(self):
        for name, reasons in (("qwen3", True), ("llama3_json", False)):
            parser = toolglot.load_parser(name)
            assert parser.reasons_in(byte_tokenizer(parser.plugin.form).chat_template) is reasons
