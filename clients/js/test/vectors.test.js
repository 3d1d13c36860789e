// The vectors that every client shares: the same random words give the same report; bad cards are refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { joined, unb64, utf8 } from "../src/bytes.js";
import { readCard } from "../src/card.js";
import { schedule, seal } from "../src/sealing.js";
import { saidOf } from "../src/tokens.js";

const read = (name) => JSON.parse(readFileSync(new URL(`../../vectors/${name}`, import.meta.url), "utf8"));

class ListedWords {
  constructor(words) {
    this.words = words.map(BigInt);
    this.used = 0;
  }

  take(count) {
    assert.ok(this.used + count <= this.words.length, "the vector holds too few words");
    this.used += count;
    return this.words.slice(this.used - count, this.used);
  }
}

test("the same words give the same reports", async () => {
  const cards = new Map();
  const { reports } = read("reports.json");
  assert.ok(reports.length >= 70);
  for (const { card: name, items, words, values } of reports) {
    if (!cards.has(name)) cards.set(name, await readCard(read(`cards/${name}`)));
    const source = new ListedWords(words);
    assert.deepEqual(cards.get(name).draw(items, source).map(String), values, `${name} ${items}`);
  }
});

test("cards are named by their digest", async () => {
  const card = await readCard(read("cards/gkrr.json"));
  assert.equal(card.digest, read("sealing.json").card);
  card.checkTime();
});

for (const { why, card } of read("refused.json")) {
  test(`refused: ${why}`, async () => {
    await assert.rejects(async () => (await readCard(card)).checkTime(), { name: "CardError" });
  });
}

const secretKey = (hex) => {
  const start = Buffer.from("302e020100300506032b656e04220420", "hex");
  return crypto.subtle.importKey("pkcs8", Buffer.concat([start, Buffer.from(hex, "hex")]), { name: "X25519" }, false, ["deriveBits"]);
};

async function open(digest, privateKey, publicKey, sealed) {
  const enc = sealed.slice(0, 32);
  const theirs = await crypto.subtle.importKey("raw", enc, { name: "X25519" }, true, []);
  const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: theirs }, privateKey, 256));
  const [key, iv] = await schedule(shared, enc, publicKey, utf8(`barrow message 2 ${digest}`));
  const aes = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["decrypt"]);
  return new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, aes, sealed.slice(32)));
}

test("messages of the other client open here, and ours open too", async () => {
  const known = read("sealing.json");
  const privateKey = await secretKey(known.private);
  const publicKey = Uint8Array.from(Buffer.from(known.public, "hex"));
  for (const { value, sealed } of known.messages) {
    const plain = await open(known.card, privateKey, publicKey, Uint8Array.from(Buffer.from(sealed, "hex")));
    assert.deepEqual(plain, joined(Uint8Array.of(1), new Uint8Array(14), Uint8Array.of(value)));
  }
  const mine = await seal(known.card, publicKey, 258n);
  assert.equal(mine.length, 64);
  assert.equal((await open(known.card, privateKey, publicKey, mine)).slice(14).join(), "1,2");
  await assert.rejects(open("sha256:other", privateKey, publicKey, mine));
});

test("what lets a message in names the card and the message", async () => {
  const { cases } = read("admission.json");
  assert.ok(cases.length >= 4);
  for (const { card, parts, said } of cases) {
    const bytes = parts.map((part) => Uint8Array.from(Buffer.from(part, "hex")));
    assert.equal(Buffer.from(await saidOf(card, ...bytes)).toString(), said);
  }
});

test("base64 has one spelling", () => {
  assert.deepEqual(unb64("AAE"), Uint8Array.of(0, 1));
  assert.throws(() => unb64("AAF"));
  assert.throws(() => unb64("AAE="));
});
