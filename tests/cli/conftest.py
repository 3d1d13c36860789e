"""The command line as the tests call it."""

from __future__ import annotations

import pytest

from barrow.cli.main import main


@pytest.fixture
def barrow(capsys):
    """Call ``barrow`` with arguments; gives its exit code, standard output and standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as stop:
            main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        return stop.value.code or 0, out, err

    return call
