// What a client remembers, pays, sends and sends again; tokens; the distribution of what it draws.
import assert from "node:assert/strict";
import { constants, generateKeyPairSync, privateDecrypt } from "node:crypto";
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { joined } from "../src/bytes.js";
import { Client, FileMemory, readCard } from "../src/index.js";
import { blind, finalize, messageOf, power, readIssuer } from "../src/tokens.js";
import { SystemWords } from "../src/words.js";

const card = (name) => JSON.parse(readFileSync(new URL(`../../vectors/cards/${name}.json`, import.meta.url), "utf8"));
const home = () => join(mkdtempSync(join(tmpdir(), "barrow-")), "me.json");
const opened = (name, path, limit = "100") => Client.open(card(name), { memory: new FileMemory(path), limit });

function server(script = () => ({ status: 200, lines: ["accepted"] })) {
  const seen = [];
  const fetch = async (address, { body }) => {
    seen.push({ address, body: Buffer.from(body).toString("latin1") });
    const { status = 200, text, ...rest } = script(seen.length, address);
    return { status, text: async () => text ?? JSON.stringify(rest) };
  };
  return { seen, fetch };
}

test("a report is drawn once, stored before it is sent, and sent again as it is", async () => {
  const path = home();
  const { seen, fetch } = server((n) => (n === 1 ? { status: 200, text: "<html>" } : { lines: ["accepted"] }));
  const first = await opened("laplace-mean", path);
  await assert.rejects(first.send([20, 30], { fetch }), { name: "SendError" });
  const again = await opened("laplace-mean", path);
  assert.deepEqual(await again.send(undefined, { fetch }), { accepted: 1 });
  assert.equal(seen[0].body, seen[1].body);
  assert.equal(seen[0].address, "https://collect.example.org/reports");
  assert.match(seen[0].body, /^\{"barrow":"local report","version":1,"study":"[^"]+","id":"[0-9a-f]{32}","values":\[-?\d+\]\}\n$/);
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test("clients at the same time agree on one report", async () => {
  const path = home();
  const clients = await Promise.all([1, 2, 3].map(() => opened("laplace-mean", path)));
  const lines = await Promise.all(clients.map((client) => client.line([20, 30])));
  assert.equal(new Set(lines).size, 1);
});

test("the person's limit holds over all cards, and no limit means no report", async () => {
  const path = home();
  const none = await Client.open(card("laplace-mean"), { memory: new FileMemory(path) });
  await assert.rejects(none.report([20]), { name: "LimitError" });
  const client = await opened("laplace-mean", path, "6");
  await client.report([20]);
  assert.ok(Math.abs((await client.spent()).spent - 5) < 1e-9);
  await assert.rejects((await opened("k-rr-local", path, "6")).report([2]), { name: "LimitError" });
  assert.equal((await (await opened("laplace-mean", path, "6")).report([90])).values.length, 1);
});

test("a damaged memory draws nothing", async () => {
  const path = home();
  writeFileSync(path, "{");
  await assert.rejects(opened("laplace-mean", path));
});

test("messages of a shuffle card: one request each, one size, the same bytes again", async () => {
  const path = home();
  const { seen, fetch } = server((n) => (n === 2 ? { status: 503, problem: "full" } : { lines: ["accepted"] }));
  const client = await opened("gkrr", path);
  await assert.rejects(client.send([0, 1, 2, 3], { fetch }), { name: "SendError" });
  assert.deepEqual(await (await opened("gkrr", path)).send(undefined, { fetch }), { accepted: 3 });
  assert.deepEqual(new Set(seen.map(({ body }) => body.length)), new Set([64]));
  assert.equal(new Set(seen.map(({ body }) => body)).size, 4);
  assert.equal(seen[1].body, seen[2].body);
});

test("an item that is not on the card, or too few of them", async () => {
  const client = await opened("gkrr", home());
  await assert.rejects(client.report(["no such item"]), { name: "CardError" });
  await assert.rejects(client.report([0]), { name: "CardError" });
});

test("tokens: the issuer sees nothing of what it signs, and its signature holds", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const issuer = await readIssuer(publicKey.export({ type: "spki", format: "der" }));
  const said = messageOf("sha256:00");
  const made = await blind(issuer, said);
  const signed = privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, made.request);
  const signature = await finalize(issuer, said, made, Uint8Array.from(signed));
  assert.equal(signature.length, 256);
  assert.notDeepEqual(signature, Uint8Array.from(signed));
  await assert.rejects(finalize(issuer, messageOf("sha256:01"), made, Uint8Array.from(signed)));
  assert.equal(power(3n, 5n, 7n), 5n);
  assert.equal(joined(made.prefix, signature).length, 288);
});

/** The chi-square statistic of draws from item 0 against its exact probabilities with the weights of `law`. */
function chiSquare(counts, total, stops, width) {
  const spread = Number(stops[0]) / Number(1n << 62n);
  return counts.reduce((sum, count, y) => {
    const expected = total * (spread / width + (y === 0 ? 1 - spread : 0));
    return sum + (count - expected) ** 2 / expected;
  }, 0);
}

test("draws have the card's distribution, and not that of an alpha0 that is a tenth larger", async () => {
  const read = await readCard(card("k-rr-local"));
  const total = 20_000;
  const counts = new Array(5).fill(0);
  const words = new SystemWords();
  for (let i = 0; i < total; i += 1) counts[Number(read.draw([0], words)[0])] += 1;
  const stops = read.proved.stops;
  // 99.9 % of chi-square with 4 degrees of freedom is below 18.5.
  assert.ok(chiSquare(counts, total, stops, 5) < 23.6);
  const p = Number(stops[0]) / Number(1n << 62n);
  const ratio = Math.exp(1.1 * Math.log((1 - p + p / 5) / (p / 5)));
  const wrong = BigInt(Math.round((5 / (4 + ratio)) * 2 ** 62));
  assert.ok(chiSquare(counts, total, [wrong], 5) > 60);
});
