"""How well a live server keeps to schemas (``toolglot bench schema``): questions, sending them, and what is counted.

Needs ``[bench]``, and the package ``bfcl-eval``, which holds most of the questions.
"""
