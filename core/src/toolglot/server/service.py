"""From what a client asks to a reply that is ready to be generated: what all APIs share."""

from __future__ import annotations

from msgspec.structs import replace

from toolglot.prompts import count_tool_calls
from toolglot.requests import Request
from toolglot.server.ask import Ask
from toolglot.server.config import ServerConfig
from toolglot.server.generation import Generation, Generator
from toolglot.server.models import ServedModels
from toolglot.server.sampling import sampling_params
from toolglot.server.tools import check_served


class Service:
    """One served model, with the operator's settings."""

    def __init__(self, config: ServerConfig, models: ServedModels, generator: Generator) -> None:
        self.config = config
        self.models = models
        self.generator = generator

    async def generation(self, ask: Ask) -> Generation:
        """The reply to ``ask``; nothing runs before it is iterated or read.

        Raises:
            ToolglotError: the request cannot be served.
        """
        self.models.check(ask.model)
        check_served(ask.tools, ask.tool_choice, self.config, has_parser=self.generator.has_parser)
        prepared = await self.generator.prepare(self._request(ask))
        sampling = sampling_params(ask.sampling, len(prepared.prompt), self.generator.info.max_model_len)
        return await self.generator.begin(prepared, sampling, ask.stops, ask.response_format)

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
