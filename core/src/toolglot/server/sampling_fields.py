"""The fields of a request body that say how tokens are chosen: OpenAI's, and those that vLLM adds to them."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from toolglot.errors import RequestError
from toolglot.server.ask import Sampling

StopString: TypeAlias = Annotated[str, Meta(min_length=1, max_length=1000)]
TokenId: TypeAlias = Annotated[int, Meta(ge=0, lt=2**31)]
TokenIdText: TypeAlias = Annotated[str, Meta(pattern=r"^[0-9]{1,9}\Z")]
"""JSON's keys are text."""
Penalty: TypeAlias = Annotated[float, Meta(ge=-2, le=2)]
Bias: TypeAlias = Annotated[float, Meta(ge=-100, le=100)]


class StreamOptions(Struct, frozen=True):
    """``stream_options``."""

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class SamplingFields(Struct, frozen=True, kw_only=True):
    """What Chat Completions and Completions have in common. ``null`` means the same as leaving a field out."""

    n: Annotated[int, Meta(ge=1)] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None
    min_tokens: Annotated[int, Meta(ge=0)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=-1, le=2**31)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, Meta(gt=0, le=100)] | None = None
    logit_bias: dict[TokenIdText, Bias] | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    stop: StopString | Annotated[list[StopString], Meta(max_length=32)] | None = None
    stop_token_ids: Annotated[list[TokenId], Meta(max_length=128)] | None = None
    include_stop_str_in_output: bool | None = None
    ignore_eos: bool | None = None
    skip_special_tokens: bool | None = None
    return_token_ids: bool | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop strings."""
        if self.stop is None:
            return ()
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    @property
    def streamed_usage(self) -> tuple[bool, bool]:
        """Whether a stream ends with the token counts, and whether all its chunks have them."""
        options = self.stream_options
        last = bool(options and options.include_usage)
        return last, bool(last and options and options.continuous_usage_stats)

    def check(self) -> None:
        """Look for fields that do not go together.

        Raises:
            RequestError: there are options of a stream, and there is no stream.
        """
        if self.stream_options is not None and not self.stream:
            raise RequestError("`stream_options` goes with `stream: true` only", param="stream_options")

    def sampling(
        self,
        max_tokens: int | None,
        *,
        max_tokens_param: str,
        prompt_param: str,
        logprobs: int | None,
        default_max_tokens: int | None = None,
    ) -> Sampling:
        """How tokens are to be chosen; the arguments are what the two APIs spell differently."""
        return Sampling(
            max_tokens=max_tokens,
            default_max_tokens=default_max_tokens,
            max_tokens_param=max_tokens_param,
            prompt_param=prompt_param,
            min_tokens=self.min_tokens,
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            min_p=self.min_p,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            repetition_penalty=self.repetition_penalty,
            logit_bias={int(token): bias for token, bias in (self.logit_bias or {}).items()},
            seed=self.seed,
            stop_token_ids=tuple(self.stop_token_ids or ()),
            ignore_eos=bool(self.ignore_eos),
            logprobs=logprobs,
        )
