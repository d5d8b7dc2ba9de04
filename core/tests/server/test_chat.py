"""Chat Completions through the official client: whole and streamed replies mean the same."""

from __future__ import annotations

import json

import openai
import pytest

from toolglot.events import Call

from .conftest import MAX_MODEL_LEN, WEATHER
