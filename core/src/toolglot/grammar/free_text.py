"""Free text in which some strings never occur, as a regular expression over whole characters.

XGrammar's own way of excluding strings works on bytes: it also lets through invalid UTF-8 and every added token. Character
classes do not. The expression is the Aho-Corasick automaton of the strings with its states eliminated, deepest first; unlike
a grammar with a rule a state, XGrammar reuses what it has worked out for it in every later tag.
"""

from __future__ import annotations

from collections.abc import Iterable

_Edges = dict[str, list[str]]
"""Where a state leads: for each state, what is read on the way to it (alternatives)."""


def free_text(excludes: Iterable[str]) -> str:
    """The pattern of all text, the empty one included, in which none of ``excludes`` (each at least a character) occurs."""
    graph = _automaton(frozenset(excludes))
    tails: dict[str, list[str]] = {state: [] for state in graph}  # how a text may go on and end there; or it ends at once
    for state in sorted(graph, key=len, reverse=True)[:-1]:
        edges = graph.pop(state)
        loop = _star(edges.pop(state, []))
        for earlier, others in graph.items():
            if state in others:
                reach = _group(others.pop(state)) + loop
                for target, ways in edges.items():
                    others.setdefault(target, []).append(reach + _group(ways))
                tails[earlier].append(reach + _optional(tails[state]))
    return _star(graph[""][""]) + _optional(tails[""])


def _automaton(excludes: frozenset[str]) -> dict[str, _Edges]:
    """The states are the starts of excluded strings that may just have been read; "" is none. Text may end in each."""
    starts = {text[:length] for text in excludes for length in range(len(text))} | {""}
    states = sorted(state for state in starts if not any(text in state for text in excludes))
    alphabet = sorted({character for text in excludes for character in text})
    return {state: _edges(state, states, alphabet, excludes) for state in states}


def _edges(state: str, states: list[str], alphabet: list[str], excludes: frozenset[str]) -> _Edges:
    edges: _Edges = {}
    elsewhere = []
    for character in alphabet:
        read = state + character
        target = max((other for other in states if read.endswith(other)), key=len)
        complete = any(read.endswith(text) for text in excludes)
        if complete or target:
            elsewhere.append(_escape(character))
        if target and not complete:
            edges.setdefault(target, []).append(_escape(character))
    edges[""] = [f"[^{''.join(elsewhere)}]" if elsewhere else "[\\s\\S]"]
    return edges


def _group(ways: list[str]) -> str:
    return ways[0] if len(ways) == 1 else f"({'|'.join(ways)})"


def _star(ways: list[str]) -> str:
    return f"({'|'.join(ways)})*" if ways else ""


def _optional(ways: list[str]) -> str:
    return f"({'|'.join(ways)})?" if ways else ""


def _escape(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 128 else character
