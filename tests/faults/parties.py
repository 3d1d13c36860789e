"""Hostile parties of a survey, planted one by one: each must be refused. Then weakened checks, which must be seen.

``undetected`` counts parties that got what they wanted; ``weakened_unseen`` checks without which nothing would change.
The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from barrow.collect.admission import Gate
from barrow.collect.analyser import CHECKS
from barrow.collect.client_budget import ClientBudget
from barrow.collect.issuer import Invitations
from tests.faults import hostile
from tests.faults.hostile import PARTIES, Scene, refused


@dataclass(frozen=True)
class Weak:
    """A check that is planted out, and the parties that must then get through."""

    change: Callable[[pytest.MonkeyPatch], None]
    through: tuple[Callable[[Scene], bool], ...]


def _without(*names: str) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: [patch.setitem(CHECKS, name, lambda card, batch: None) for name in names] and None


WEAK = {
    "an analyser that does not look at the signature": Weak(
        _without("signature"),
        (
            hostile.another_shuffler, hostile.cut_off_and_said_so, hostile.put_in_on_the_way,
            hostile.put_in_order_on_the_way,
        ),
    ),
    "an analyser that does not look at tokens": Weak(
        _without("admission"),
        (
            hostile.one_real_and_the_rest_invented, hostile.tokens_of_an_own_issuer, hostile.one_token_for_all,
            hostile.tokens_of_another_card, hostile.tokens_moved_to_other_messages, hostile.nobody_attested,
        ),
    ),
    "an analyser that does not look for copies": Weak(
        _without("distinctness"), (hostile.copies_of_one_message, hostile.copies_with_tokens_of_their_own)
    ),
    "an analyser that does not count whole people": Weak(_without("number"), (hostile.half_a_person_more,)),
    "an analyser that opens everything": Weak(
        _without(*CHECKS),
        (hostile.copies_of_one_message, hostile.a_batch_from_the_public_card, hostile.another_shuffler),
    ),
    "services that let in everybody": Weak(
        lambda patch: patch.setattr(Gate, "lets_in", lambda *_: True),
        (hostile.another_message_under_a_token, hostile.a_message_without_a_token),
    ),
    "an issuer that forgets": Weak(
        lambda patch: patch.setattr(Invitations, "spend", lambda self, request: ["accepted" for _ in request]),
        (hostile.one_invitation_twice,),
    ),
    "a wallet that only knows names": Weak(
        lambda patch: patch.setattr(ClientBudget, "reserve", lambda self, survey, card, price, **_: False),
        (hostile.a_cheap_card_first, hostile.a_dear_card),
    ),
}  # fmt: skip


@contextmanager
def weakened(weak: Weak) -> Iterator[None]:
    """The change, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        weak.change(patch)
        yield


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    began, undetected, unseen = time.perf_counter(), [], []
    with tempfile.TemporaryDirectory(prefix="barrow-parties-") as name:
        at = Scene(Path(name))
        if not at.released(at.batch(at.honest)):
            sys.exit("an honest batch was not released")
        for party in PARTIES:
            why = refused(party, at)
            undetected += [] if why else [party.__name__]
            print(json.dumps({"party": party.__name__, "refused": why}), flush=True)
        for what, weak in WEAK.items():
            with weakened(weak):
                stopped = [party.__name__ for party in weak.through if refused(party, at) is not None]
            unseen += [what] if stopped else []
            print(json.dumps({"weakened": what, "through": len(weak.through) - len(stopped)}), flush=True)
    told = {"parties": len(PARTIES), "undetected": len(undetected), "weakened": len(WEAK)}
    told |= {"weakened_unseen": len(unseen), "seconds": round(time.perf_counter() - began, 1)}
    print(json.dumps(told))
    raise SystemExit(1 if undetected or unseen else 0)


if __name__ == "__main__":
    main()
