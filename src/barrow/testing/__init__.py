"""The suites that barrow's own spaces, questions and engines pass, for those of other packages (docs/plugins.md).

A test file inherits a suite, says what is tested, and imports the hook by which pytest makes one test of each case::

    from barrow.testing import SpaceCase, SpaceSuite, pytest_generate_tests

    class TestPrefixes(SpaceSuite):
        cases = (SpaceCase("small", Prefixes(["10.0.0.1", "10.0.0.2"])),)

They need pytest.
"""

from barrow.testing.cases import pytest_generate_tests
from barrow.testing.engines import EngineSuite
from barrow.testing.questions import QuestionCase, QuestionSuite
from barrow.testing.spaces import SpaceCase, SpaceSuite
