"""``python -m toolglot``: the same as ``toolglot``."""

import sys

from toolglot.cli import main

sys.exit(main())
