"""The format keeps the laws of every format."""

from pathlib import Path

from toolglot.testing import FormatSuite


class TestHarmony(FormatSuite):
    parser = "openai"
    cases = Path(__file__).parent / "cases" / "openai"
    unchecked = frozenset(  # orders that models write; the template and renderer put the recipient first
        (
            "<|channel|>commentary to=functions.",
            "<|channel|>analysis to=functions.",
            "<|channel|>analysis <|constrain|>json<|message|>",
            "<|channel|>~final <|constrain|>~json~<|message|>",
            "<|return|>",
        )
    )
