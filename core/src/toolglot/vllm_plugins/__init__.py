"""Plugin files that were written for vLLM: they load as they are, with or without vLLM.

``modules`` has the modules that such files import; what is in them is in ``tool_parser``, ``protocol``, ``model`` and
``helpers``. ``adapter``, ``session``, ``calls`` and ``tokens`` make a plugin with toolglot's hooks of a ``ToolParser``.
"""

from toolglot.vllm_plugins.adapter import VllmParser
from toolglot.vllm_plugins.modules import Run

__all__ = ["Run", "VllmParser"]
