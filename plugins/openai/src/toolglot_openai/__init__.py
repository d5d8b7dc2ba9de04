"""gpt-oss 20b and 120b (``openai``, also ``gpt-oss`` and ``gptoss``): the harmony format.

A turn is several messages, each with a channel and perhaps a recipient in its header, in several orders. A recipient
makes it a call, whatever its channel.
Checked against the chat template of gpt-oss 120b, which writes no ``<|constrain|>``, and openai_harmony's renderer.
Compared: one call, parallel calls, text, reasoning, no arguments, hard arguments, answers.
"""

from toolglot.formats import Calls, Frame, HeadedCall, Reasoning, WireFormat, WireFormatParser

CHANNELS = ("", "<|channel|>commentary", "<|channel|>analysis")
TYPES = (" <|constrain|>json", " {type}", "")

HARMONY = WireFormat(
    calls=(
        Calls(
            body=HeadedCall(tuple(f"{{name}}{channel}{kind}<|message|>" for channel in CHANNELS for kind in TYPES)),
            call=Frame(
                open=tuple(f"{channel} to=functions." for channel in (*CHANNELS[1:], "")),
                close=("<|call|>", "<|end|>"),
            ),
            single=True,  # the end of a call is a token that ends the output
        ),
    ),
    reasoning=Reasoning(Frame(("<|channel|>~analysis~<|message|>",), ("<|end|>",)), call_ends=True, again=True),
    content=Frame(
        open=tuple(f"<|channel|>~{name}~<|message|>" for name in ("final", "commentary", "final <|constrain|>~json")),
        close=("<|return|>", "<|end|>", "<|return|>"),
    ),
    between="<|start|>~assistant",
)

plugin = WireFormatParser(HARMONY, architectures=("GptOssForCausalLM",))
