"""How often something is repeated: more often where --thorough is given."""

from __future__ import annotations

import os


def often(usual: int, thorough: int) -> int:
    """How often to repeat; ``usual`` shows the claim by itself, with its power."""
    return thorough if "BARROW_THOROUGH" in os.environ else usual
