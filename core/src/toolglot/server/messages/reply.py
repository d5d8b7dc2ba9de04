"""What a whole reply and the events of a streamed one have in common."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict

from toolglot.events import Call
from toolglot.server.extension import CallNote
from toolglot.server.generation import Generation
from toolglot.server.messages.arguments import input_object
from toolglot.server.messages.protocol import Block, InputNote, Message, MessageExtension, Stop, StopReason, Usage
from toolglot.server.notes import NOTHING


class Reply(Struct, frozen=True, kw_only=True):
    """The identity of a reply, and what of it is shown."""

    id: str
    model: str
    show_thinking: bool
    extensions: bool
    fills_window: bool
    """Whether the model's context, and not ``max_tokens``, is what limits the reply."""

    def begun(self, generation: Generation) -> Message:
        """The reply before its first token."""
        usage = Usage(generation.prompt_tokens, 0)
        return Message(id=self.id, model=self.model, content=(), stop_reason=None, stop_sequence=None, usage=usage)

    def whole(self, generation: Generation, content: tuple[Block, ...]) -> Message:
        """The reply when it has ended."""
        stop = self.stop(generation)
        return Message(
            id=self.id,
            model=self.model,
            content=content,
            stop_reason=stop.stop_reason,
            stop_sequence=stop.stop_sequence,
            usage=usage(generation),
            toolglot=self.extension(generation),
        )

    def stop(self, generation: Generation) -> Stop:
        """Why the reply has ended: the limit wins, then a call."""
        if generation.finish == "length":
            return Stop("model_context_window_exceeded" if self.fills_window else "max_tokens", None)
        reason: StopReason = "end_turn" if generation.stop_string is None else "stop_sequence"
        return Stop("tool_use", None) if generation.message.tool_calls else Stop(reason, generation.stop_string)

    def extension(self, generation: Generation) -> MessageExtension | UnsetType:
        """The member ``toolglot``, where there is something to say and the operator wants it said."""
        said = generation.notes
        if not self.extensions or said == NOTHING:
            return UNSET
        calls = tuple(map(_note, said.calls, generation.message.tool_calls))
        return MessageExtension(**{**asdict(said), "calls": calls})


def usage(generation: Generation) -> Usage:
    """The token counts of a generation that has ended."""
    known = generation.cached_tokens
    return Usage(generation.prompt_tokens - known, generation.completion_tokens, cache_read_input_tokens=known)


def _note(note: CallNote, call: Call) -> InputNote:
    is_whole = input_object(call.arguments)[1]
    return InputNote(**asdict(note), input=UNSET if is_whole else call.arguments)
