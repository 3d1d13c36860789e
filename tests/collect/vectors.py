"""Makes and replays the vectors that clients in other languages share: random words in, reports out.

``python -m tests.collect.vectors`` writes clients/vectors anew; the tests replay what is written there.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

import barrow.noise.source as door
from barrow.collect.admission import attest, line_of, signed_message
from barrow.collect.card import Card, make_card
from barrow.collect.card_form import signed_bytes
from barrow.collect.keys import b64, public_bytes
from barrow.collect.sealing import seal
from barrow.collect.sum_task import verify_digest
from barrow.local.client import Survey
from barrow.local.report import Report
from barrow.noise.source import SeededSource, SystemSource
from barrow.spaces import Clustered, Euclidean, Tree
from barrow.study import Study

FOLDER = Path(__file__).parents[2] / "clients" / "vectors"
PEOPLE = {"users": 1000}
SHUFFLE = {**PEOPLE, "alpha": 3, "delta": "1e-6", "model": "shuffle"}
LOCAL = {**PEOPLE, "alpha": 5, "model": "local"}
SUMMED = {**PEOPLE, "alpha": 8, "model": "aggregated"}
FEW = {**SUMMED, "users": 50}
MOODS = "discrete(labels=['calm', 'glad', 'sad', 'tense', 'tired'])"
SHOPS = Clustered({"fruit": ["fig", "pear", "plum"], "tool": ["saw", "axe"], "bread": ["rye"]}, r=0.1)
PLACES = Tree.nested(
    ["US/NY/Bronx", "US/NY/Queens", "US/LA/Downtown", "FR/Paris/Centre", "FR/Lyon/Centre"], distances=[1, 0.25, 0.1]
)
AGES = "line(low=0, high=100, step=1, unit='years')"
MAP, FINE = (Euclidean([0, 0], [side, side], step=1) for side in (3, 5))
SURVEYS = {
    "k-rr": (MOODS, "frequency(items=2)", SHUFFLE, [[0, 3], [4, 4]]),
    "k-rr-local": (MOODS, "items(items=1)", {**LOCAL, "alpha": 2}, [[2]]),
    "gkrr": (SHOPS, "frequency(items=4)", SHUFFLE, [[0, 0, 3, 5], [1, 2, 4, 5]]),
    "tree": (PLACES, "frequency(items=3)", {**LOCAL, "alpha": 8}, [[0, 1, 4], [2, 2, 2]]),
    "tree-sampled": (PLACES, "frequency(samples=5)", {**LOCAL, "alpha": 8}, [[0], [0, 1, 2, 3, 4, 0, 1]]),
    "laplace-mean": (AGES, "mean", LOCAL, [[20, 30], [0], [100, 100, 7]]),
    "laplace-distance": (AGES, "distance(to=30)", LOCAL, [[20, 30]]),
    "laplace-tree": (PLACES, "histogram(mechanism='tree')", {**LOCAL, "alpha": 8}, [[0, 1, 4], [3]]),
    "sums-mean": (AGES, "mean", SUMMED, [[20, 30], [0], [100, 100, 7]]),
    "sums-tree": (PLACES, "histogram(mechanism='tree')", {**SUMMED, "aggregators": 3}, [[0, 1, 4], [3], [2, 2, 2]]),
    "samples-map": (MAP, "histogram(mechanism='edges', spacing='items')", FEW, [[0, 1, 7], [3]]),
    "samples-nodes": (FINE, "histogram(mechanism='edges', spacing=2)", {**FEW, "aggregators": 3}, [[0, 1, 24], [13]]),
}
"""Name, then space, question, terms, and some people's items."""
NOW, FOREVER = 1_700_000_000, 365_000
SIGNER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ANALYSER = X25519PrivateKey.from_private_bytes(bytes(range(32, 64)))
AGGREGATORS = [X25519PrivateKey.from_private_bytes(bytes(range(start, start + 32))) for start in (128, 160, 192)]
VERIFY = bytes(range(200, 232))
MIXER, FRONT = (Ed25519PrivateKey.from_private_bytes(bytes(range(start, start + 32))) for start in (64, 96))


def survey_of(name: str) -> tuple[Survey, Study, list[list[int]]]:
    space, question, terms, people = SURVEYS[name]
    study = Study(space, questions=[question], **terms)
    return Survey(study, study.questions[0]), study, people


class Listed(SystemSource):
    """Hands out given words, and remembers how many; when they run out it goes on with seeded ones."""

    def __init__(self, words: list[int], seed: int | None = None) -> None:
        super().__init__()
        self.given = list(words)
        self.used: list[int] = []
        self._more = None if seed is None else SeededSource(seed)

    def words(self, count: int) -> np.ndarray:
        while len(self.given) < count and self._more is not None:
            self.given += self._more.words(1).tolist()
        taken, self.given = self.given[:count], self.given[count:]
        assert len(taken) == count, "the vector holds too few words"
        self.used += taken
        return np.array(taken, dtype=np.uint64)


@contextmanager
def words_from(source: SystemSource):
    """Everything that is drawn meanwhile comes from ``source``."""
    before = door._shared
    door._shared = source
    try:
        yield source
    finally:
        door._shared = before


def drawn(survey: Survey, items: list[int], source: SystemSource) -> list[int]:
    with words_from(source):
        return [int(value) for value in survey.channel.report(np.array(items, dtype=np.int64))]


def crafted(name: str) -> list[list[int]]:
    """First words that lead to rare ways: a tiny uniform, either sign, all ones; a refused draw."""
    if name in ("laplace-mean", "laplace-distance"):
        return [[5], [2**64 - 6], [0], [2**64 - 1], [2**63 - 1], [2**63], [2**44 + 7], [2**64 - 1 - 2**30]]
    if name == "sums-mean":  # all ones, none, and words at the end of what a coin leaves open
        return [[0], [2**64 - 1], [2**63], [2**63 - 1], [2**62]]
    if name == "laplace-tree":
        ordinary = SeededSource(99).words(5).tolist()
        return [[9, *ordinary[1:]], [*ordinary[:2], 2**64 - 4, *ordinary[3:]]]
    if name == "k-rr-local":
        # Stops at the root (small), then 7 and 6 are refused as places among five, and 2 is taken.
        return [[0, 7 << 61, 6 << 61, 2 << 61], [2**64 - 1], [3, 5 << 61, 4 << 61]]
    if name == "samples-nodes":  # places first, then a number right at the end of a node's weights
        row = survey_of(name)[0].channel.wire[0]["rows"][13]
        return [[*SeededSource(5).words(512).tolist(), int(row[0][1]) << 16]]
    if name == "tree-sampled":
        # Halves of words: 0 is refused where 2^32 mod 7 = 4 is above 0 * 7 mod 2^32.
        return [[0]]
    return []


def made() -> dict[str, object]:
    files: dict[str, object] = {}
    reports = []
    for number, name in enumerate(SURVEYS):
        survey, _, people = survey_of(name)
        many = 2 if "samples-" in name else 9  # a thousand words each
        starts = [([], items, 10 * number + i) for i, items in enumerate((people * 9)[:many])]
        starts += [(words, people[-1], 1000 + 10 * number + i) for i, words in enumerate(crafted(name))]
        for words, items, seed in starts:
            source = Listed(words, seed)
            values = drawn(survey, items, source)
            # One more than was used: another client may look ahead by one word without changing its values.
            used = [str(word) for word in [*source.used, *SeededSource(seed + 7).words(1).tolist()]]
            reports.append({"card": f"{name}.json", "items": items, "words": used, "values": [str(v) for v in values]})
    files["reports.json"] = {"about": "docs/collect-format.md", "reports": reports}
    for name in SURVEYS:
        files[f"cards/{name}.json"] = json.loads(card_of(name).text)
    good = card_of("gkrr")
    key = public_bytes(ANALYSER)
    files["sealing.json"] = {
        "card": good.digest,
        "private": ANALYSER.private_bytes_raw().hex(),
        "public": key.hex(),
        "messages": [{"value": value, "sealed": seal(good.digest, key, value).hex()} for value in (0, 1, 5)],
    }
    files["admission.json"] = admission(good.digest)
    files["refused.json"] = refused()
    return files


def card_of(name: str) -> Card:
    _, study, _ = survey_of(name)
    mixed = {"analyser": ANALYSER, "mixer": MIXER, "shuffler": "https://shuffle.example.org"}
    keys = {"signer": SIGNER, "front": FRONT, **(mixed if study.model.value == "shuffle" else {})}
    if study.model.value == "aggregated":
        keys |= {"aggregators": AGGREGATORS[: study.parties.aggregators], "verify": verify_digest(VERIFY)}
    return make_card(study, address="https://collect.example.org", days=FOREVER, now=NOW, **keys)


def resigned(data: dict) -> dict:
    return {**data, "signature": b64(SIGNER.sign(signed_bytes(data)))}


def admission(card: str) -> dict:
    """What a token or a front end signs for some parts, and a line of a report that the front end let in."""
    parts = [[b"one"], [b"one", b"two"], [bytes(64)], ['{"é":1}'.encode()]]
    told = [
        {"card": card, "parts": [p.hex() for p in some], "said": signed_message(card, *some).decode()} for some in parts
    ]
    mood = card_of("k-rr-local")
    report = Report(mood.survey.digest, "0" * 32, (2,)).to_text()
    line = line_of(report, attest(FRONT, mood.digest, report.encode()))
    return {"cases": told, "front": public_bytes(FRONT).hex(), "report_card": "k-rr-local.json", "line": line}


def refused() -> list[dict]:
    """Cards that a client must refuse, and why; all but the first are signed."""
    good, mean = json.loads(card_of("gkrr").text), json.loads(card_of("laplace-mean").text)
    tree, small = (json.loads(card_of(name).text) for name in ("tree-sampled", "k-rr-local"))
    channel = good["channel"]
    half = {**channel, "alpha0": "1/2"}
    nodes = [list(node) for node in channel["nodes"]]
    nodes[0][3] = "0"
    number, below = mean["channel"]["scale"].split("/")
    quiet = {**mean["channel"], "scale": f"{int(number) // 2}/{below}"}

    def priced(text: object, card: dict = good) -> dict:
        return resigned({**card, "local": {**card["local"], "epsilon": text}})

    def changed(card: dict, **parts: object) -> dict:
        return resigned({**card, **parts})

    names = ["toString", "__proto__", "constructor", "hasOwnProperty", "", "mood", good["survey"].upper()]
    prices = ["-1000", "0", "0/1", "-0", "NaN", "Infinity", "1e3", "1/0", "1/-2", "9" * 400, " 5", "5\n", "", 5, None]
    free = {**good["admission"], "kind": "nobody"}
    return [
        {"why": "signature", "card": {**good, "people": 999}},
        {"why": "version 1", "card": changed(good, version=1)},
        {"why": "version 3", "card": changed(good, version=3)},
        {"why": "expired", "card": changed(good, expires=NOW + 1)},
        {"why": "not yet", "card": changed(good, issued=NOW + 86400 * 365_000)},
        {"why": "alpha0", "card": changed(good, channel=half)},
        {"why": "weights", "card": changed(good, channel={**channel, "nodes": nodes})},
        {"why": "scale", "card": changed(mean, channel=quiet)},
        {"why": "epsilon", "card": priced("1/10")},
        {"why": "address", "card": changed(good, send={**good["send"], "messages": "http://evil.example"})},
        *({"why": f"survey {name[:20]!r}", "card": changed(small, survey=name)} for name in names),
        *({"why": f"price {str(text)[:10]!r}", "card": priced(text, small)} for text in prices),
        {"why": "default of noise", "card": changed(mean, channel={**mean["channel"], "default": 101})},
        {"why": "default by name", "card": changed(mean, channel={**mean["channel"], "default": "constructor"})},
        {"why": "default of samples", "card": changed(tree, channel={**tree["channel"], "default": -1})},
        {"why": "messages", "card": changed(good, messages=good["messages"] + 1)},
        {"why": "nobody lets in", "card": changed(good, admission=free)},
        {"why": "no front end", "card": changed(good, admission={"kind": "attested", "key": ""})},
        {"why": "more of admission", "card": changed(good, admission={**good["admission"], "also": "x"})},
        {"why": "no shuffler", "card": changed(good, mixing=None)},
        {"why": "shuffler of a local card", "card": changed(mean, mixing=good["mixing"])},
        {"why": "short key of the shuffler", "card": changed(good, mixing={"key": "AAAA"})},
        {"why": "short key of the analyser", "card": changed(good, sealing={**good["sealing"], "key": "AAAA"})},
        {"why": "no channel", "card": changed(good, channel={})},
        *refused_sums(),
    ]


def refused_sums() -> list[dict]:
    """Aggregated cards whose noise, ranges or aggregators are not what they say."""
    tree = json.loads(card_of("sums-tree").text)
    channel, sealing, claimed = tree["channel"], tree["sealing"], tree["claimed"]

    def changed(**parts: object) -> dict:
        return resigned({**tree, **parts})

    top, below = (int(part) for part in channel["rate"].split("/"))
    return [
        {"why": "less noise in a sum", "card": changed(channel={**channel, "rate": f"{2 * top}/{below}"})},
        {
            "why": "a finer grid of a sum",
            "card": changed(channel={**channel, "grid": str(Fraction(channel["grid"]) / 2)}),
        },
        {"why": "price of a sum", "card": changed(claimed={**claimed, "epsilon": "1/10"})},
        {"why": "a sum without its price", "card": changed(claimed=None)},
        {
            "why": "all may be dishonest",
            "card": changed(channel={**channel, "dishonest": 3}, claimed={**claimed, "dishonest": 3}),
        },
        {"why": "a sum by one", "card": changed(sealing={**sealing, "keys": sealing["keys"][:1]})},
        {"why": "a sum by one under two names", "card": changed(sealing={**sealing, "keys": sealing["keys"][:1] * 3})},
        {"why": "no common key", "card": changed(sealing={**sealing, "verify": ""})},
        {"why": "short key of an aggregator", "card": changed(sealing={**sealing, "keys": ["AAAA", "AAAB", "AAAC"]})},
        {"why": "ranges of a sum", "card": changed(channel={**channel, "most": []})},
        {"why": "negative range of a sum", "card": changed(channel={**channel, "most": [-1]})},
        {"why": "a sum of the local model", "card": changed(model="local")},
        {"why": "a mixed sum", "card": changed(mixing={"key": "A" * 43})},
        *refused_samples(),
    ]


def refused_samples() -> list[dict]:
    """Cards of maps whose noise, graph or items are not what they say."""
    card = json.loads(card_of("samples-nodes").text)
    channel, metric = card["channel"], card["metric"]
    rows, edges = channel["rows"], metric["edges"]
    longer = [[head, tail, str(2 * Fraction(length))] for head, tail, length in edges]

    def changed(of: dict = channel, **parts: object) -> dict:
        name = "channel" if of is channel else "metric"
        return resigned({**card, name: {**of, **parts}})

    return [
        {"why": "less noise at nodes", "card": changed(inner=str(Fraction(channel["inner"]) * Fraction(101, 100)))},
        {"why": "samples for nothing", "card": changed(inner=channel["alpha"])},
        {"why": "fewer samples", "card": changed(samples=15)},
        {"why": "alpha of samples", "card": changed(alpha=str(Fraction(channel["alpha"]) * Fraction(99, 100)))},
        {"why": "a longer graph", "card": changed(metric, edges=longer)},
        {"why": "a graph in pieces", "card": changed(metric, edges=edges[:3])},
        {"why": "an edge of no length", "card": changed(metric, edges=[[*edges[0][:2], "0"], *edges[1:]])},
        {"why": "a node that is not there", "card": changed(rows=[[[99, rows[0][0][1]]], *rows[1:]])},
        {"why": "weights of a node", "card": changed(rows=[[[0, "1"]], *rows[1:]])},
        {"why": "a negative weight", "card": changed(rows=[[[0, "-1"], [1, "281474976710657"]], *rows[1:]])},
        {"why": "items without nodes", "card": changed(rows=rows[1:])},
    ]


def write() -> None:
    (FOLDER / "cards").mkdir(parents=True, exist_ok=True)
    for name, content in made().items():
        (FOLDER / name).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
