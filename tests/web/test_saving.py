"""Where the page keeps a study and its drafts."""

from __future__ import annotations

import subprocess
import sys

from barrow.web.guard import random_name
from barrow.web.saving import StudyPlace


def test_a_draft_that_cannot_be_read_is_passed_over(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    place, draft = StudyPlace(tmp_path / "study.toml"), tmp_path / f".study.toml.draft-{gone.pid}"
    for text in ("", "[]", "{", "[" * 10**5):
        draft.write_text(text)
        assert place.draft() is None
    draft.write_text('{"study": {}}')
    assert place.draft() == {"study": {}}


def test_places_and_names(tmp_path):
    place = StudyPlace(tmp_path / "study.toml")
    assert place.save("users = 3", seen=None) == place.digest
    assert place.file.read_text() == "users = 3"
    assert len(random_name()) == 64
    assert random_name() != random_name()
