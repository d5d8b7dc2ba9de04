"""The engines elsewhere that ``toolglot serve --engine`` takes."""

ENGINES = ("vllm", "sglang", "llamacpp", "openai")
