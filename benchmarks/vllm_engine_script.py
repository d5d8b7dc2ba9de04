"""Runs in vLLM's environment: ``PATH MAX_LENGTH MAX_BATCH`` are its arguments.

Prints a line when the model is loaded, and then one for each JSON object on standard input (``prompts``, ``tokens``)
when all prompts are continued: the processor time that it and its processes have taken so far, in seconds.
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Answer until standard input ends."""
    path, length, batch = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # vLLM and its processes print
    from vllm import LLM, SamplingParams

    llm = LLM(path, dtype="float32", max_model_len=int(length), max_num_seqs=int(batch), enforce_eager=True)
    print(processor_time(), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        sampling = SamplingParams(temperature=0, max_tokens=asked["tokens"], ignore_eos=True, detokenize=False)
        llm.generate([{"prompt_token_ids": prompt} for prompt in asked["prompts"]], sampling, use_tqdm=False)
        print(processor_time(), file=answers, flush=True)


def processor_time() -> float:
    import psutil  # comes with vLLM

    this = psutil.Process()
    return sum(sum(each.cpu_times()[:2]) for each in (this, *this.children(recursive=True)))


if __name__ == "__main__":  # vLLM starts processes that import this file again
    main()
