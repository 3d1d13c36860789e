"""Our own vectors, which the JavaScript client shares, are what this code makes."""

import json

from tests.collect.prio3.vectors import FILE, STREAMS, made, streams


def test_the_vectors_are_what_this_code_makes():
    known, ours = json.loads(FILE.read_text()), made()
    assert len(known["cases"]) >= 11
    assert {case["aggregators"] for case in known["cases"]} == {2, 3, 4, 5}
    assert known == ours
    assert json.loads(STREAMS.read_text()) == streams()
