"""Shares that the JavaScript client made are opened, checked and added up by the aggregators of this library."""

import json
import shutil
import subprocess

import pytest

from barrow.collect.aggregator import Aggregator
from barrow.collect.share_messages import SealedReport
from barrow.collect.share_store import ShareStore
from barrow.collect.sum_exchange import exchange, read_sums
from barrow.collect.sum_task import sum_task
from tests.collect.sums.test_card import MAP, summed_card
from tests.collect.sums.world import VERIFY
from tests.collect.test_javascript import CLIENT
from tests.collect.world import key, let_in

SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
import { b64 } from "./src/bytes.js";
import { Client, FileMemory } from "./src/index.js";
const [, card, memory, out, items] = process.argv;
const source = readFileSync(card, "utf8");
const first = await Client.open(source, { memory: new FileMemory(memory), limit: "100" });
const client = await Client.open(source, { memory: new FileMemory(memory), trust: await first.aggregators() });
const { values } = await client.report(JSON.parse(items));
const parts = await client.shares();
const trust = await client.aggregators();
writeFileSync(out, JSON.stringify({ parts: parts.map(b64), values: values.map(String), trust }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
@pytest.mark.parametrize(
    ("asked", "items"),
    [({}, ["0/1", "1/2", "1/2"]), ({"alpha": 1}, ["0/1", "1/2", "1/2"]), (MAP, [1, 5, 5])],
    ids=["tree", "finer grid", "map"],
)
def test_shares_of_the_other_client_are_counted(tmp_path, asked, items):
    card = summed_card(**asked)
    (tmp_path / "card.json").write_text(card.text)
    arguments = [tmp_path / "card.json", tmp_path / "me.json", tmp_path / "out.json", json.dumps(items)]
    command = ["node", "--input-type=module", "-e", SCRIPT, *map(str, arguments)]
    run = subprocess.run(command, cwd=CLIENT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    made = json.loads((tmp_path / "out.json").read_text())
    assert made["trust"] == card.aggregators
    report = SealedReport.from_json(made["parts"])
    task = sum_task(card)
    task.__dict__["draw_noise"] = lambda: [0] * len(task.prio3.circuit.most)
    parties = [
        Aggregator(task, i, ShareStore(tmp_path / f"{i}.db", card.digest, i), key("aggregator", i), VERIFY)
        for i in range(2)
    ]
    (tmp_path / "meet").mkdir()
    for i, party in enumerate(parties):
        assert party.add([report.message(i, let_in(card, report.signed))]) == ["accepted"]
    for close in (False, False, True, True):
        for party in parties:
            exchange(party, tmp_path / "meet", close=close, fewest=1)
    sums = read_sums(task, sorted((tmp_path / "meet").glob("*-sum.json")))
    assert [str(value) for value in sums.values] == made["values"]
    assert sums.reports == 1
