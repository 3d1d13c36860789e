// Secure sums: the same shares and proofs as every other client, byte for byte; TurboSHAKE128 against its RFC.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Client, FileMemory } from "../src/index.js";
import { TurboShake128 } from "../src/keccak.js";
import { Edges, Prio3 } from "../src/prio3.js";

const read = (name) => JSON.parse(readFileSync(new URL(`../../vectors/${name}`, import.meta.url), "utf8"));
const bytes = (text) => Uint8Array.from(Buffer.from(text, "hex"));
const short = (data) => (data.length <= 4000 ? Buffer.from(data).toString("hex") : `sha256:${createHash("sha256").update(data).digest("hex")}`);

test("many lengths of TurboSHAKE128 are those of the other client", () => {
  for (const { length, start, stream } of read("turboshake.json").cases) {
    const data = Uint8Array.from({ length }, (_, i) => i % 251);
    const shake = new TurboShake128(data);
    const all = [shake.read(start), shake.read(stream.length / 2)];
    assert.equal(Buffer.from(all[1]).toString("hex"), stream, `${length} bytes`);
  }
});

const { cases } = read("sums.json");

test("the same randomness gives the same shares", () => {
  assert.ok(cases.length >= 11);
  for (const known of cases) {
    const circuit = new Edges(known.most, known.groups, known.chunk);
    const prio3 = new Prio3(circuit, known.aggregators, bytes(known.context));
    const made = prio3.shard(known.values, bytes(known.nonce), bytes(known.random));
    assert.equal(Buffer.from(made.public).toString("hex"), known.public);
    assert.deepEqual(made.shares.map(short), known.shares);
  }
});

test("what the circuit does not allow is not shared", () => {
  const circuit = new Edges([5, 5], [[[0, 1], 2, 3]]);
  const prio3 = new Prio3(circuit, 2, "card");
  const random = new Uint8Array(prio3.randomSize);
  for (const values of [[6, 0], [0, 1], [3, 3], [1], [1.5, 2], [-1, 4]]) {
    assert.throws(() => prio3.shard(values, new Uint8Array(16), random), RangeError);
  }
  assert.throws(() => prio3.shard([1, 2], new Uint8Array(15), random), RangeError);
});

// The official vectors are not ours to ship: they are read where they are, if they are.
const places = ["../../../../", "../../../../../", "../../../../../../"].map((up) => new URL(`${up}shared/data/vdaf/`, import.meta.url));
const place = places.find((url) => existsSync(url));

test("official reports with three proofs", { skip: place === undefined && "the official vectors are not here" }, () => {
  for (const name of ["Prio3SumVecWithMultiproof_0.json", "Prio3SumVecWithMultiproof_1.json"]) {
    const known = JSON.parse(readFileSync(new URL(name, place), "utf8"));
    const circuit = new Edges(new Array(known.length).fill(known.max_measurement), [], known.chunk_length);
    const prio3 = new Prio3(circuit, known.shares, bytes(known.ctx), 0xffffffff);
    for (const report of known.reports) {
      const made = prio3.shard(report.measurement, bytes(report.nonce), bytes(report.rand));
      assert.equal(Buffer.from(made.public).toString("hex"), report.public_share);
      assert.deepEqual(made.shares.map((share) => Buffer.from(share).toString("hex")), report.input_shares);
    }
  }
});

const card = (name) => JSON.parse(readFileSync(new URL(`../../vectors/cards/${name}.json`, import.meta.url), "utf8"));

test("a person opts in, and the same bytes go out ever after", async () => {
  const memory = new FileMemory(join(mkdtempSync(join(tmpdir(), "barrow-")), "me.json"));
  const stranger = await Client.open(card("sums-tree"), { memory, limit: "20" });
  await assert.rejects(stranger.shares([0, 1]), { name: "LimitError", message: /count on this card's aggregators/ });
  const client = await Client.open(card("sums-tree"), { memory, trust: await stranger.aggregators() });
  await assert.rejects(client.line([0, 1]), { name: "LimitError", message: /must leave in shares/ });
  const first = await client.shares([0, 1]);
  assert.equal(first.length, 5);
  const kept = await memory.update((state) => [...state.surveys.values()]);
  assert.deepEqual(kept.map(({ values, shared }) => [values, shared.length]), [[[], 5]]); // the answer itself is forgotten
  const sent = [];
  const fetch = async (address, { body }) => {
    sent.push([address, Buffer.from(body)]);
    return { status: sent.length === 1 ? 507 : 200, text: async () => JSON.stringify(sent.length === 1 ? { problem: "full" } : { lines: ["accepted"] }) };
  };
  await assert.rejects(client.send([2], { fetch }), { name: "SendError" });
  assert.deepEqual(await client.send([3], { fetch }), { accepted: 1 });
  assert.equal(sent[0][0], "https://collect.example.org/reports");
  assert.ok(sent[0][1].equals(sent[1][1]));
  assert.equal(sent[0][1].length, 5 + first.reduce((sum, part) => sum + part.length, 0));
  assert.equal((await client.spent()).inShares, 1);
});
