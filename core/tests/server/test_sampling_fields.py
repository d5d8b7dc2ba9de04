"""What a request says of its tokens reaches the engine, and what of its prompt the template."""

from __future__ import annotations

import pytest

MESSAGES = [{"role": "user", "content": "Hi"}]


def test_every_field_reaches_the_engine(served):
    served.engine.say("Hi")
    fields = {
        "max_tokens": 50,
        "min_tokens": 2,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 7,
        "min_p": 0.1,
        "presence_penalty": 0.5,
        "frequency_penalty": -0.5,
        "repetition_penalty": 1.2,
        "seed": -3,
        "ignore_eos": True,
    }
    served.both(**fields, logit_bias={"5": -100, "7": 2.5}, stop_token_ids=[9, 11], logprobs=True, top_logprobs=4)
    sampling = served.engine.samplings[-1]
    assert {name: getattr(sampling, name) for name in fields} == fields | {"seed": 2**63 - 3}
    assert dict(sampling.logit_bias) == {5: -100, 7: 2.5}
    assert (sampling.stop_token_ids, sampling.logprobs) == ({9, 11}, 4)


def test_a_stop_string_can_belong_to_the_content(served):
    served.engine.say("one END two")
    assert served.both(stop=["END"]).content == "one "
    reply = served.both(stop=["END"], include_stop_str_in_output=True)
    assert (reply.content, reply.finish) == ("one END", "stop")


@pytest.mark.parametrize("role", ["system", "developer"])
def test_a_developer_speaks_as_the_system(served, role):
    served.engine.say("Hi")
    served.chat(messages=[{"role": role, "content": "Be brief."}, *MESSAGES])
    assert "<|im_start|>system\nBe brief.<|im_end|>" in served.engine.prompt


def test_text_parts_are_joined(served):
    served.engine.say("Hi")
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    served.chat(messages=[{"role": "user", "content": parts}])
    assert "<|im_start|>user\none\ntwo<|im_end|>" in served.engine.prompt


def test_no_effort_closes_the_reasoning_where_the_template_can(served):
    served.engine.say("Hi")
    served.chat(reasoning_effort="none")
    assert served.engine.prompt.endswith("effort: none\n<think>\n\n</think>\n\n")
    served.chat(reasoning_effort="high")
    assert served.engine.prompt.endswith("effort: high\n")
    served.chat(reasoning_effort="none", extra_body={"chat_template_kwargs": {"enable_thinking": True}})
    assert served.engine.prompt.endswith("<think>\n")
