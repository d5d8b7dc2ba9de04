"""Events of a reply as the content blocks that Anthropic's API cuts it into."""

from __future__ import annotations

from msgspec.structs import replace

from toolglot.events import ArgumentsDelta, CallEnd, CallStart, ContentDelta, Event, ReasoningDelta
from toolglot.server.messages.arguments import ArgumentsReader, input_object
from toolglot.server.messages.protocol import (
    Block,
    BlockEvent,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    InputJsonDelta,
    SignatureDelta,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolUseBlock,
)


class BlockCutter:
    """Cuts one reply: :meth:`cut` for each event, then :meth:`close`. ``show_thinking``: whether reasoning is told."""

    def __init__(self, *, show_thinking: bool = True) -> None:
        self._show_thinking = show_thinking
        self._index = -1
        self._open: Block | None = None
        self._arguments = ArgumentsReader()

    def cut(self, event: Event) -> list[BlockEvent]:
        """What a client is told of ``event``. There are no empty blocks of text."""
        match event:
            case ContentDelta(text) if text:
                return [*self._enter(TextBlock("")), self._delta(TextDelta(text))]
            case ReasoningDelta(text) if text and self._show_thinking:
                return [*self._enter(ThinkingBlock("")), self._delta(ThinkingDelta(text))]
            case CallStart(_, call_id, name):
                opening = [*self.close(), self._start(ToolUseBlock(call_id, name, {}))]
                self._arguments = ArgumentsReader()
                return opening
            case ArgumentsDelta(_, text):
                return self._input(self._arguments.feed(text))
            case CallEnd():
                return self.close()
        return []

    def close(self) -> list[BlockEvent]:
        """The end of the block that is open, if one is."""
        block, self._open = self._open, None
        match block:
            case None:
                return []
            case ThinkingBlock():
                last: list[BlockEvent] = [self._delta(SignatureDelta(block.signature))]
            case ToolUseBlock():
                last = self._input(self._arguments.close())
            case _:
                last = []
        return [*last, ContentBlockStop(self._index)]

    def _enter(self, block: TextBlock | ThinkingBlock) -> list[BlockEvent]:
        """Begin ``block``, unless one of its kind is open."""
        return [] if type(self._open) is type(block) else [*self.close(), self._start(block)]

    def _start(self, block: Block) -> ContentBlockStart:
        self._open = block
        self._index += 1
        return ContentBlockStart(self._index, block)

    def _input(self, text: str) -> list[BlockEvent]:
        return [self._delta(InputJsonDelta(text))] if text else []

    def _delta(self, delta: TextDelta | ThinkingDelta | SignatureDelta | InputJsonDelta) -> ContentBlockDelta:
        return ContentBlockDelta(self._index, delta)


class BlockBuilder:
    """Adds block events up to whole blocks."""

    def __init__(self) -> None:
        self._blocks: list[tuple[Block, list[str]]] = []

    def add(self, event: BlockEvent) -> None:
        match event:
            case ContentBlockStart(_, block):
                self._blocks.append((block, []))
            case ContentBlockDelta(index, TextDelta(text) | ThinkingDelta(text) | InputJsonDelta(text)):
                self._blocks[index][1].append(text)

    def blocks(self) -> tuple[Block, ...]:
        """The blocks so far."""
        return tuple(_filled(block, "".join(pieces)) for block, pieces in self._blocks)


def _filled(block: Block, text: str) -> Block:
    match block:
        case TextBlock():
            return replace(block, text=text)
        case ThinkingBlock():
            return replace(block, thinking=text)
    return replace(block, input=input_object(text)[0])
