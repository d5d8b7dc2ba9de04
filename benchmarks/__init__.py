"""How long parsing takes: run by ``nox -s bench``, and written to docs/performance.md by its ``-- --table``."""
