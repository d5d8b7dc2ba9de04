"""The clients that people really use, against ``toolglot serve``: run by ``nox -s clients``, minutes long.

The server is a process of its own, and prepared outputs stand in for a model; all else is as in use: agent frameworks
that call local functions, a coding agent in a folder, and clients that mean no good.
"""
