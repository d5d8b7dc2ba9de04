"""How long parsing takes (``nox -s bench``, and docs/performance.md by its ``-- --table``), and how fast the engine is
(``nox -s bench-engine``).
"""
