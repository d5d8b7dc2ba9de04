"""ToolACE and Llama 3.2 (``pythonic``): a list of Python calls, which is the whole reply.

Not checked against a template: those of Llama 3.2 and ToolACE print strings without quotes, so they say nothing of the
calls that the models write.
"""

from toolglot.formats import Calls, Frame, PythonCall, WireFormat, WireFormatParser

PYTHONIC = WireFormat(
    calls=(Calls(PythonCall(), section=Frame(("[",), ("]", ",~]")), separator=", "),),
    begins="start",
)

plugin = WireFormatParser(PYTHONIC)
