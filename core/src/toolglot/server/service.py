"""From what a client asks to a reply that is ready to be generated: what all APIs share."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from toolglot.prompts import count_tool_calls
from toolglot.requests import Request
from toolglot.server.ask import Ask
from toolglot.server.config import ServerConfig
from toolglot.server.generation import Generation, Generator, Prepared
from toolglot.server.limits import check_choices, check_limits
from toolglot.server.models import ServedModels
from toolglot.server.sampling import for_choice, sampling_params
from toolglot.server.stops import Stops
from toolglot.server.tools import check_served


class Service:
    """One served model, with the operator's settings."""

    def __init__(self, config: ServerConfig, models: ServedModels, generator: Generator) -> None:
        self.config = config
        self.models = models
        self.generator = generator

    async def generation(self, ask: Ask) -> Generation:
        """The first, or only, reply to ``ask``; nothing runs before it is iterated or read.

        Raises:
            ToolglotError: the request cannot be served.
        """
        return (await self.generations(ask))[0]

    async def generations(self, ask: Ask) -> list[Generation]:
        """All the replies that ``ask`` wants; errors as :meth:`generation`."""
        self._check(ask)
        check_served(ask.tools, ask.tool_choice, self.config, has_parser=self.generator.has_parser)
        return await self._begin(ask, await self._prepared(ask))

    async def completions(self, ask: Ask, prompt: Sequence[int]) -> list[Generation]:
        """The replies that ``ask`` wants to a prompt of tokens, as plain text; errors as :meth:`generation`."""
        self._check(ask)
        return await self._begin(ask, self.generator.prepared_text(prompt, ask.skip_special_tokens))

    async def prepared(self, ask: Ask) -> Prepared:
        """The prompt of ``ask``, whether or not a reply could be made.

        Raises:
            ToolglotError: there is no prompt for it, or it is too long to count.
        """
        return await self._prepared(ask, counting=True)

    async def _prepared(self, ask: Ask, *, counting: bool = False) -> Prepared:
        check_limits(ask, self.config)
        param = ask.sampling.prompt_param
        prepared = await self.generator.prepare(self._request(ask), param=param, counting=counting)
        return prepared if ask.allowed_tools is None else _narrowed(prepared, ask.allowed_tools)

    async def _begin(self, ask: Ask, prepared: Prepared) -> list[Generation]:
        prompt_tokens, most = len(prepared.prompt), self.config.max_tokens_limit
        sampling = sampling_params(ask.sampling, prompt_tokens, self.generator.info, max_tokens_limit=most)
        stops = Stops(ask.stops, ask.include_stop)
        first = await self.generator.begin(prepared, for_choice(sampling, 0), stops, ask.response_format)
        return [first, *(first.another(for_choice(sampling, number)) for number in range(1, ask.n))]

    def _check(self, ask: Ask) -> None:
        self.models.check(ask.model)
        check_choices(ask.n, self.config)

    def _request(self, ask: Ask) -> Request:
        config, form = self.config, ask.response_format
        request = Request(
            messages=ask.messages,
            tools=ask.tools,
            tool_choice=ask.tool_choice,
            parallel_tool_calls=ask.parallel_tool_calls,
            chat_template_kwargs={**config.default_chat_template_kwargs, **ask.chat_template_kwargs},
            skip_special_tokens=ask.skip_special_tokens,
            earlier_calls=count_tool_calls(ask.messages),
            repair=config.repair,
            incomplete_calls=config.incomplete_calls,
            unknown_tools=config.unknown_tools,
            strict_level=self.generator.strict_level,
            content_schema=None if form is None else form.schema,
            any_property_order=config.any_property_order and not (form and form.strict),
        )
        hide_tools = ask.tool_choice == "none" and config.exclude_tools_when_tool_choice_none
        return replace(request, tools=()) if hide_tools else request


def _narrowed(prepared: Prepared, allowed: Sequence[str]) -> Prepared:
    """The same prompt, for a reply that may call the allowed tools only: a grammar holds at least the names."""
    request = prepared.request
    tools = tuple(tool for tool in request.tools if tool.name in allowed)
    level = "function" if request.strict_level == "auto" else request.strict_level
    narrowed = replace(request, tools=tools, prompt_tools=request.tools, strict_level=level)
    return replace(prepared, request=narrowed)
