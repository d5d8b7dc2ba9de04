"""Whether grammars keep their promise: run by ``nox -s strict``, minutes long.

``sample`` lets the worst of models write calls under the grammar of every parser, and validates them; ``suite`` holds
the grammars against the JSON-Schema-Test-Suite.
"""
