"""Each hostile party is refused, an honest batch is not, and a check that is left out would be seen."""

from __future__ import annotations

import pytest

from barrow.questions.collecting import for_people
from tests.faults import hostile
from tests.faults.parties import PARTIES, WEAK, Scene, refused, weakened


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("scene"))


def test_honest_people_are_counted(scene):
    assert scene.released(scene.batch(scene.honest))
    signed = [one[:64] + hostile.let_in(scene.loose, one[:64]) for one in map(hostile.sealed, [scene.loose] * 8)]
    assert scene.released(scene.batch(signed, scene.loose), scene.loose)


@pytest.mark.parametrize("party", PARTIES, ids=lambda party: party.__name__)
def test_hostile_parties_are_refused(scene, party):
    assert refused(party, scene)


@pytest.mark.parametrize("weak", WEAK.values(), ids=WEAK)
def test_weakened_checks_are_seen(scene, weak):
    with weakened(weak):
        assert [party.__name__ for party in weak.through if refused(party, scene) is not None] == []


def test_an_issuer_that_signs_twice_is_not_seen_and_the_statement_names_it(scene):
    """Signatures are blind: one person with two invitations is two people, and nobody but the issuer can know."""
    one_person = [hostile.item(scene.card, 3) for _ in range(hostile.COUNT)]
    assert scene.released(scene.batch(one_person))
    from barrow.collect.analyser import conditions_of

    assert "signed once for each" in conditions_of(scene.card, hostile.PEOPLE)[1]
    # What many invitations cannot buy: a promise better than the one that was made for the card's number of people.
    plan = scene.card.survey.plan
    assert for_people(plan, 10**6).guarantee == plan.guarantee
    assert conditions_of(scene.card, 10**6)[0] == conditions_of(scene.card, hostile.PEOPLE)[0]
