"""The official vectors of the VDAF draft, where they are; they are not ours to ship."""

import json
from pathlib import Path

from barrow.collect.prio3 import Prio3, VerifyState, histogram, l1_bound_sum, multihot, sum_vec

PLACES = [parent / "shared" / "data" / "vdaf" for parent in Path(__file__).resolve().parents]
PLACE = next((place for place in PLACES if place.is_dir()), None)
FILES = sorted(PLACE.glob("Prio3*.json")) if PLACE else []


def built(path):
    """The algorithm of a file, and how it writes what a person reports."""
    vector = json.loads(path.read_text())
    kind, options = path.stem.partition("_")[0], {}
    chunk, length = vector["chunk_length"], vector["length"]
    if kind == "Prio3SumVecWithMultiproof":
        options = {"field": "Field64", "proofs": 3, "algorithm": 0xFFFFFFFF}
        circuit = sum_vec(length, vector["max_measurement"], chunk)
    else:
        name = kind.removeprefix("Prio3")
        ids = {"SumVec": 3, "Histogram": 4, "MultihotCountVec": 5, "L1BoundSum": 7}
        options = {"field": "Field128", "proofs": 1, "algorithm": ids[name]}
        circuit = {
            "SumVec": lambda: sum_vec(length, vector["max_measurement"], chunk),
            "Histogram": lambda: histogram(length, chunk),
            "MultihotCountVec": lambda: multihot(length, vector["max_weight"], chunk),
            "L1BoundSum": lambda: l1_bound_sum(length, vector["max_value"], chunk),
        }[name]()
    prio3 = Prio3(circuit, vector["shares"], bytes.fromhex(vector["ctx"]), **options)

    def entries(measurement):
        if kind == "Prio3Histogram":
            return [int(i == measurement) for i in range(length)]
        return [int(value) for value in measurement]

    return vector, prio3, entries


def comparisons(path):
    """Pairs (what the file says, what we compute) of everything in a file, operation by operation."""
    vector, prio3, entries = built(path)
    key, states, outputs = bytes.fromhex(vector["verify_key"]), {}, {}
    for step in vector["operations"]:
        operation, right = step["operation"], step["success"]
        try:
            if operation == "aggregate":
                index = step["aggregator_id"]
                shares = [outputs[index, i] for i in range(len(vector["reports"]))]
                yield vector["agg_shares"][index], prio3.add(shares).hex()
                continue
            if operation == "unshard":
                shares = [bytes.fromhex(share) for share in vector["agg_shares"]]
                yield vector["agg_result"], prio3.unshard(shares)
                continue
            report = vector["reports"][step["report_index"]]
            nonce, public = bytes.fromhex(report["nonce"]), bytes.fromhex(report["public_share"])
            if operation == "shard":
                made = prio3.shard(entries(report["measurement"]), nonce, bytes.fromhex(report["rand"]))
                yield (report["public_share"], report["input_shares"]), (made[0].hex(), [x.hex() for x in made[1]])
            elif operation == "verify_init":
                index = step["aggregator_id"]
                share = bytes.fromhex(report["input_shares"][index])
                state = prio3.verify_init(key, index, nonce, public, share)
                states[index, step["report_index"]] = state
                yield report["verifier_shares"][0][index], state.share.hex()
            elif operation == "verifier_shares_to_message":
                message = prio3.decide([bytes.fromhex(share) for share in report["verifier_shares"][0]])
                yield report["verifier_messages"][0], message.hex()
            elif operation == "verify_next":
                index = step["aggregator_id"]
                state: VerifyState = states[index, step["report_index"]]
                message = bytes.fromhex(report["verifier_messages"][0])
                output = prio3.finish(state, message)
                outputs[index, step["report_index"]] = output
                yield "".join(report["out_shares"][index]), output.hex()
            else:
                yield operation, None
            if not right:
                yield "refused", "taken"
        except Exception as error:
            if right:
                yield "taken", repr(error)
            else:
                yield "ShareError", type(error).__name__
