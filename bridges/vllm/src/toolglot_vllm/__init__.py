"""toolglot's parsers inside vLLM: ``vllm serve … --tool-call-parser toolglot_NAME --reasoning-parser toolglot_NAME``.

vLLM finds :func:`register` by its entry-point group ``vllm.general_plugins``. ``tool_parser`` and ``reasoning_parser``
have what is registered, one class a parser; ``unified`` reads for both where both are toolglot's. Each of them asks
``requests`` what toolglot calls what vLLM was asked, and reads an output with ``reading``.
"""

from toolglot_vllm.registration import PREFIX, REPLACE, register

__all__ = ["PREFIX", "REPLACE", "register"]
