"""What alternatives begin with is written once, and they admit what they admitted."""

import itertools

import pytest

from toolglot.grammar import Compiler
from toolglot.grammar.alternatives import merged
from toolglot.structural_tag import AnyText, ConstString, Optional, Or, Sequence, StructuralTag, Tag, Token


def test_a_shared_beginning_is_written_once():
    calls = [Sequence((ConstString(f"call {name}("), AnyText())) for name in ("get", "go", "set")]

    assert merged(Or(tuple(calls))) == Sequence(
        (
            ConstString("call "),
            Or(
                (
                    Sequence(
                        (
                            ConstString("g"),
                            Or((Sequence((ConstString("et("), AnyText())), Sequence((ConstString("o("), AnyText())))),
                        )
                    ),
                    calls[2].__class__((ConstString("set("), AnyText())),
                )
            ),
        )
    )


def test_what_begins_otherwise_stays():
    options = Or((Token(5), ConstString("a"), AnyText(), Tag("a", AnyText(), "b")))

    assert merged(options) == options


def test_alternatives_within_others_are_merged_too():
    inner = Or((ConstString("ab"), ConstString("ac")))
    whole = Sequence((Optional(inner), ConstString("x")))

    assert merged(whole) == Sequence((Optional(merged(inner)), ConstString("x")))
    assert merged(inner) == Sequence((ConstString("a"), Or((ConstString("b"), ConstString("c")))))


@pytest.mark.parametrize(
    "options",
    [
        (ConstString("a"), ConstString("ab"), ConstString("abc")),
        (ConstString("ab"), ConstString("ab")),
        (ConstString("a"), Sequence((ConstString("a"), ConstString("b"))), ConstString("b")),
        (Sequence((ConstString("a"), Optional(ConstString("b")))), Sequence((ConstString("ab"), ConstString("c")))),
        (Sequence((ConstString("é"), ConstString("a"))), ConstString("è"), ConstString("éab")),
    ],
)
def test_the_same_texts_are_admitted(options, text_tokenizer, monkeypatch):
    stop = text_tokenizer.token_to_id("<|im_end|>")
    texts = ["".join(letters) for length in range(5) for letters in itertools.product("abcéè", repeat=length)]
    ids = {text: text_tokenizer.encode(text, add_special_tokens=False).ids for text in texts}

    def admitted() -> set[str]:
        compiler = Compiler(text_tokenizer, vocab_size=text_tokenizer.get_vocab_size(), stop_token_ids=[stop])
        compiled = compiler.compile(StructuralTag(Or(options)))
        return {text for text in texts if compiled.matcher().accept_many((*ids[text], stop)) == len(ids[text]) + 1}

    after = admitted()
    monkeypatch.setattr("toolglot.grammar.compiler.merged", lambda fmt: fmt)
    assert after == admitted() != set()
