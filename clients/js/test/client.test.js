// What a client remembers, pays, sends and sends again; tokens; the distribution of what it draws.
import assert from "node:assert/strict";
import { constants, createPrivateKey, generateKeyPairSync, privateDecrypt, sign } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { b64, joined, utf8 } from "../src/bytes.js";
import { canonical } from "../src/card.js";
import { Client, FileMemory, readCard } from "../src/index.js";
import { blind, finalize, power, readIssuer, saidOf } from "../src/tokens.js";
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
  const said = await saidOf("sha256:00", Uint8Array.of(1));
  const made = await blind(issuer, said);
  const signed = privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, made.request);
  const signature = await finalize(issuer, said, made, Uint8Array.from(signed));
  assert.equal(signature.length, 256);
  assert.notDeepEqual(signature, Uint8Array.from(signed));
  for (const [digest, part] of [["sha256:01", 1], ["sha256:00", 2]]) {
    const other = await saidOf(digest, Uint8Array.of(part));
    await assert.rejects(finalize(issuer, other, made, Uint8Array.from(signed)));
  }
  assert.equal(power(3n, 5n, 7n), 5n);
  assert.equal(joined(made.prefix, signature).length, 288);
});

// The key that signed the vectors is public: anybody can be a hostile author of cards.
const author = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.from([...Array(32).keys()])]),
  format: "der", type: "pkcs8",
});
const hostile = (data) => {
  const { signature, ...rest } = data;
  return { ...rest, signature: b64(sign(null, utf8(canonical(rest)), author)) };
};
const spent = async (path) => Number((existsSync(path) ? Object.values(JSON.parse(readFileSync(path, "utf8")).surveys) : [])
  .reduce((sum, { epsilon }) => sum + Number(epsilon.split("/")[0]) / Number(epsilon.split("/")[1] ?? 1), 0));

test("a survey with the name of something that every object has is not free", async () => {
  for (const survey of ["toString", "__proto__", "constructor", "valueOf", ""]) {
    const path = home();
    const answered = (async () => {
      const client = await Client.open(hostile({ ...card("laplace-mean"), survey }), { memory: new FileMemory(path), limit: "1" });
      return client.report([20]);
    })();
    await assert.rejects(answered, { name: "CardError" });
  }
});

test("a card with a price below 0 buys nothing", async () => {
  const path = home();
  for (const epsilon of ["-1000", "0", "-0", "1/0", "NaN", "1e9", "9999999999"]) {
    const free = hostile({ ...card("laplace-mean"), local: { ...card("laplace-mean").local, epsilon } });
    await assert.rejects(Client.open(free, { memory: new FileMemory(path), limit: "1" }), { name: "CardError" });
  }
  await assert.rejects((await opened("laplace-mean", path, "1")).report([20]), { name: "LimitError" });
  assert.equal(await spent(path), 0);
});

test("what is wrong with the items is seen before anything is paid", async () => {
  const path = home();
  const client = await opened("gkrr", path);
  for (const wrong of [["no such item"], [0], [], [0, 1, 2, 6], [0, 1, 2, -1], [0, 1, 2, 1.5]]) {
    await assert.rejects(client.report(wrong), { name: "CardError" });
  }
  assert.equal(await spent(path), 0);
});

test("what was paid for a cheap card is not good for a dear one of the same name", async () => {
  const path = home();
  const cheap = card("laplace-mean");
  const { local, channel } = cheap;
  const dear = hostile({
    ...cheap, local: { ...local, epsilon: "40" },
    channel: { ...channel, scale: "100", alpha: "40", table: channel.table, step: "1/4503599627370496" },
  });
  const first = await opened("laplace-mean", path, "6");
  first.card.draw = () => { throw new Error("the draw fails"); };
  await assert.rejects(first.report([20]), { message: "the draw fails" });
  const before = await spent(path);
  assert.ok(before > 4.9);
  const second = await Client.open(dear, { memory: new FileMemory(path) });
  await assert.rejects(second.report([20]), { name: "LimitError" });
  assert.equal(await spent(path), before);
  // The card that was paid for can still be answered, for nothing more.
  assert.equal((await (await opened("laplace-mean", path, "6")).report([20])).values.length, 1);
  assert.equal(await spent(path), before);
});

test("a memory with a price or a name that is none draws nothing", async () => {
  const path = home();
  const client = await opened("laplace-mean", path);
  await client.report([20]);
  const good = JSON.parse(readFileSync(path, "utf8"));
  const [name, entry] = Object.entries(good.surveys)[0];
  for (const surveys of [{ [name]: { ...entry, epsilon: "-5" } }, { [name]: { ...entry, epsilon: "0" } }, { [name]: { ...entry, epsilon: 5 } }, { mood: entry }, { [name]: 1 }, [1], 5]) {
    writeFileSync(path, JSON.stringify({ ...good, surveys }));
    await assert.rejects(client.report([20]), /it is not known what was spent/);
  }
  writeFileSync(path, `{"barrow":"card wallet","version":2,"limit":"9","surveys":{"__proto__":${JSON.stringify(entry)}}}`);
  await assert.rejects(client.report([20]), /it is not known what was spent/);
});

test("a local report goes out with a token that is good for it alone", async () => {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const key = b64(Uint8Array.from(publicKey.export({ type: "spki", format: "der" })));
  const data = card("laplace-mean");
  const counted = hostile({
    ...data, send: { ...data.send, tokens: "https://collect.example.org/tokens" },
    admission: { kind: "tokens", variant: "RSABSSA-SHA384-PSS-Randomized", key },
  });
  const asked = [];
  const lines = [];
  const fetch = async (address, { body }) => {
    const said = Buffer.from(body).toString();
    let told = { lines: ["accepted"] };
    if (address.endsWith("/tokens")) {
      asked.push(JSON.parse(said));
      const signed = (text) => privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, Buffer.from(text, "base64url"));
      told = { signatures: asked.at(-1).blinded.map((text) => b64(Uint8Array.from(signed(text)))) };
    } else {
      lines.push(said);
    }
    return { status: 200, text: async () => JSON.stringify(told) };
  };
  const path = home();
  const client = await Client.open(counted, { memory: new FileMemory(path), limit: "10" });
  assert.deepEqual(await client.send([20], { fetch, invitation: "code" }), { accepted: 1 });
  await client.send(undefined, { fetch, invitation: "code" });
  assert.equal(asked.length, 1);
  assert.equal(asked[0].invitation, "code");
  assert.equal(lines[0], lines[1]);
  const [report, token] = lines[0].trimEnd().split("\t");
  assert.equal(report, await client.line());
  const bytes = Buffer.from(token, "base64url");
  const issuer = await readIssuer(Uint8Array.from(publicKey.export({ type: "spki", format: "der" })));
  const holds = async (part) => crypto.subtle.verify({ name: "RSA-PSS", saltLength: 48 }, issuer.key, bytes.subarray(32),
    joined(Uint8Array.from(bytes.subarray(0, 32)), await saidOf(client.card.digest, utf8(part))));
  assert.ok(await holds(report));
  assert.ok(!(await holds(`${report} `)));
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
