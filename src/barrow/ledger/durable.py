"""What must be on the disk before anybody relies on it."""

from __future__ import annotations

import os
from pathlib import Path


def fsync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable; without it a new file can vanish in a power cut."""
    if os.name == "nt":
        return  # Windows cannot open folders; NTFS journals names.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
