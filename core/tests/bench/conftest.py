from __future__ import annotations

import json
from pathlib import Path

import pytest

FUNCTION = {
    "name": "spot.price",
    "description": "The price of a stock.",
    "parameters": {
        "type": "dict",
        "properties": {"symbol": {"type": "String"}, "days": {"type": "float"}, "type": {"type": "any"}},
        "required": ["symbol"],
    },
}


@pytest.fixture
def bfcl_data(tmp_path: Path) -> Path:
    """A folder in the form of bfcl-eval's: 30 questions, and a function of a question of several turns."""
    question = [[{"role": "user", "content": "What does a share cost?"}], [{"role": "user", "content": "And now?"}]]
    records = [{"id": f"simple_{number}", "question": question, "function": [FUNCTION]} for number in range(30)]
    records.append({"id": "multi_turn_0", "question": question, "involved_classes": ["MathAPI"]})
    (tmp_path / "BFCL_v4_simple.json").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "BFCL_v4_format_sensitivity.json").write_text('{\n"simple": ["simple_0"]\n}')
    (tmp_path / "multi_turn_func_doc").mkdir()
    (tmp_path / "multi_turn_func_doc" / "math_api.json").write_text(json.dumps(FUNCTION | {"name": "add"}))
    return tmp_path
