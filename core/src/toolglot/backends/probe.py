"""What is found out of an engine before it is used: whether it is there, what it serves, whether it holds to a tag."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any

import aiohttp
import msgspec
from msgspec import Struct

from toolglot.backends.dialect import Dialect, RemoteConstraint, RemoteRequest, Served, read
from toolglot.backends.faults import ReplicaError
from toolglot.backends.link import Link, Timeouts
from toolglot.backends.remote import open_session
from toolglot.backends.text_tokens import TextTokens
from toolglot.engine.protocol import SamplingParams
from toolglot.errors import EngineError, ModelError, RequestError
from toolglot.structural_tag import ConstString, StructuralTag

_OBJECT = msgspec.json.Decoder(dict[str, Any])
_PROMPT = "The secret word is"
_WORD = "toolglot-7"
"""What no model writes of its own accord."""
_ROOM = 8
"""How many tokens more than that it may take."""


class Found(Struct, frozen=True):
    """What is common to the replicas that answer."""

    model: str
    """The model's name there."""
    max_model_len: int | None
    """The least of theirs; None: none says."""
    takes: frozenset[str]
    """The fields of sampling that all of them obey."""
    missing: tuple[str, ...]
    """What was said of each replica that does not answer."""


async def probe(
    dialect: Dialect,
    urls: Iterable[str],
    *,
    wanted: str | None,
    guesses: Iterable[str],
    tokenizer: Any,
    api_key: str | None,
    timeouts: Timeouts,
) -> Found:
    """Find out what the replicas at ``urls`` serve. ``wanted`` is the model's name there; without it, one of
    ``guesses`` must be.

    Raises:
        ModelError: none answers, or one serves another model, tells other tokens than the tokenizer's, or does not hold
            to a tag; the message says what to do.
    """
    async with open_session(api_key, timeouts) as session:
        one = _Probe(dialect, session, timeouts, TextTokens(tokenizer), tokenizer)
        answers = await asyncio.gather(*(one.replica(url, wanted, tuple(guesses)) for url in urls))
    found = [answer for answer in answers if isinstance(answer, _Answer)]
    missing = tuple(answer for answer in answers if isinstance(answer, str))
    if not found:
        raise ModelError("; ".join(missing))
    if len(names := sorted({answer.served.name for answer in found})) > 1:
        raise ModelError(f"the replicas serve different models: {', '.join(names)}; give --engine-model")
    lengths = [answer.served.max_model_len for answer in found if answer.served.max_model_len is not None]
    takes = frozenset.intersection(*(answer.takes for answer in found))
    return Found(names[0], min(lengths, default=None), takes, missing)


class _Answer(Struct, frozen=True):
    served: Served
    takes: frozenset[str]


class _Probe:
    def __init__(
        self, dialect: Dialect, session: aiohttp.ClientSession, timeouts: Timeouts, tokens: TextTokens, tokenizer: Any
    ) -> None:
        self._dialect = dialect
        self._session = session
        self._timeouts = timeouts
        self._tokens = tokens
        self._tokenizer = tokenizer

    async def replica(self, url: str, wanted: str | None, guesses: tuple[str, ...]) -> _Answer | str:
        """What a replica serves, or why it does not answer."""
        link, name = Link(self._session, url, self._timeouts), self._dialect.name
        try:
            models = await self._get(link, url, "/v1/models")
        except ReplicaError as error:
            return f"no {name} engine answers at {url} ({error}); start it, or give another --engine-url"
        try:
            details = await self._details(link, url)
            served = _chosen(self._dialect.served(models, details), url, wanted, guesses)
            await self._complete(link, url, served)
        except ReplicaError as error:
            raise ModelError(f"what answers at {url} is no {name} engine: {error}; see --engine") from error
        except (EngineError, RequestError) as error:
            raise ModelError(f"{url}: {error}") from error
        return _Answer(served, self._dialect.takes(details))

    async def _get(self, link: Link, url: str, path: str) -> bytes:
        status, body = await link.get(path)
        if status in (401, 403):
            raise ModelError(f"{url} asks for a key ({status}); give --engine-api-key-file or TOOLGLOT_ENGINE_API_KEY")
        if status == 503:
            raise ReplicaError("it is not ready yet")
        if status != 200:
            raise ModelError(f"{url}{path} answers {status}: that is no {self._dialect.name} engine; see --engine")
        return body

    async def _details(self, link: Link, url: str) -> Mapping[str, Any]:
        *others, last = self._dialect.details_paths or (None,)
        if last is None:
            return {}
        for path in others:
            status, body = await link.get(path)
            if status == 200:
                return read(_OBJECT, body)
        return read(_OBJECT, await self._get(link, url, last))

    async def _complete(self, link: Link, url: str, served: Served) -> None:
        """Have it write a word, which a grammar holds it to where it can. Raises ModelError: it does not."""
        constraint = None
        if self._dialect.capabilities.grammar != "none":
            tag = StructuralTag(ConstString(_WORD)).to_json()
            constraint = RemoteConstraint(self._dialect.lower(tag, {}))
        size = len(self._tokenizer.encode(_WORD, add_special_tokens=False))
        request = RemoteRequest(
            id="toolglot-probe",
            model=served.name,
            prompt=tuple(self._tokenizer.encode(_PROMPT)),
            sampling=SamplingParams(max_tokens=size + _ROOM, temperature=0.0),
            constraint=constraint,
        )
        text = await self._written(link, request)
        if constraint is not None and not text.startswith(_WORD):
            raise ModelError(
                f"{url} does not hold to a grammar, or its tokens are not those of this tokenizer: it was to write "
                f"{_WORD!r}, and wrote {text[:40]!r}; start it with XGrammar, and with the model that MODEL names"
            )

    async def _written(self, link: Link, request: RemoteRequest) -> str:
        read, body = self._dialect.reader(request, self._tokens), msgspec.json.encode(self._dialect.body(request))
        written: list[int] = []
        finished = False
        async with aclosing(link.events(self._dialect.path, body)) as events:
            async for event in events:
                chunk = read(event)
                written += chunk.token_ids
                finished = finished or chunk.finish is not None
        if not finished:
            raise ReplicaError("it did not say why its reply ended")
        texts = self._tokens.texts
        return b"".join(texts[token] for token in written if token < len(texts)).decode(errors="replace")


def _chosen(served: list[Served], url: str, wanted: str | None, guesses: tuple[str, ...]) -> Served:
    """The model of this name. Raises ModelError: there is none."""
    names = (wanted,) if wanted is not None else guesses
    for name in names:
        for one in served:
            if name == one.name or name in one.aliases:
                return one
    listed = ", ".join(one.name for one in served) or "none"
    if wanted is not None:
        raise ModelError(f"--engine-model {wanted}: {url} serves {listed}")
    raise ModelError(f"{url} serves {listed}, and not {' or '.join(guesses)}; say which it is: --engine-model NAME")
