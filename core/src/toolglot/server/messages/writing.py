"""A reply that is not streamed."""

from __future__ import annotations

from contextlib import aclosing

from toolglot.server.generation import Generation
from toolglot.server.messages.blocks import BlockBuilder, BlockCutter
from toolglot.server.messages.protocol import Message
from toolglot.server.messages.reply import Reply


async def whole_message(reply: Reply, generation: Generation) -> Message:
    """The whole reply: what a client would make of the streamed one, whose blocks have an order.

    Raises:
        EngineError: generation failed, or the queue is full.
    """
    cutter, builder = BlockCutter(show_thinking=reply.show_thinking), BlockBuilder()
    async with aclosing(generation.events()) as steps:
        async for events in steps:
            for event in events:
                for one in cutter.cut(event):
                    builder.add(one)
    return reply.whole(generation, builder.blocks())
