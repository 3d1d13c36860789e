// One person's side of a card: pay from their own limit, draw once, remember, send; after a failure send the same again.

import { b64, hex, joined, unb64, utf8 } from "./bytes.js";
import { priceOf, readCard } from "./card.js";
import { ZERO } from "./exact.js";
import { seal } from "./sealing.js";
import { aggregatorsOf, bodyOf, shareReport, signedPart } from "./sums.js";
import { blind, finalize, readIssuer, saidOf } from "./tokens.js";
import { SystemWords, randomBytes, shuffled } from "./words.js";

const DONE = ["accepted", "repeated"];

/** Something was not taken; it is kept and can be sent again. */
export class SendError extends Error {
  constructor(problem) {
    super(`${problem} What was drawn is kept: send again later, and the same goes out.`);
    this.name = "SendError";
  }
}

/** The person's own limit does not allow this. */
export class LimitError extends Error {
  constructor(problem) {
    super(problem);
    this.name = "LimitError";
  }
}

const text = (fraction) => (fraction.d === 1n ? `${fraction.n}` : `${fraction.n}/${fraction.d}`);
const spentOf = (state) => [...state.surveys.values()].reduce((sum, entry) => sum.plus(priceOf(entry.epsilon)), ZERO);

function limitOf(limit) {
  try {
    return priceOf(String(limit));
  } catch {
    throw new LimitError('A limit is a number above 0, as a text such as "10" or "7/2".');
  }
}

export class Client {
  constructor(card, memory) {
    this.card = card;
    this.memory = memory;
  }

  /**
   * The client of a card.
   *
   * source: the card's JSON, text or data. memory: a BrowserMemory or FileMemory. limit: what all cards together may
   * cost this person, as a text such as "10"; remembered once it is given. signer: who must have signed it. trust: the
   * name of a card's aggregators (`await client.aggregators()`), if this person counts on them not to work together.
   */
  static async open(source, { memory, limit, signer, trust } = {}) {
    const card = await readCard(source, { signer });
    if (limit !== undefined) {
      const value = limitOf(limit);
      await memory.update((state) => { state.limit = text(value); });
    }
    if (trust !== undefined) {
      await memory.update((state) => { state.trusted = [...new Set([...state.trusted, String(trust)])].sort(); });
    }
    return new Client(card, memory);
  }

  /** The name of the card's aggregators, to which the person opts in; null where it has none. */
  async aggregators() {
    return this.card.summed ? aggregatorsOf(this.card.sealing.keys) : null;
  }

  /** What was spent on all surveys together, and the limit, as numbers for people to read. */
  async spent() {
    return this.memory.update((state) => ({
      spent: spentOf(state).toNumber(),
      limit: state.limit === null ? null : priceOf(state.limit).toNumber(),
      inShares: [...state.surveys.values()].filter((entry) => entry.aggregators !== undefined).length,
    }));
  }

  /** The report of this survey: drawn once, the same whatever the items are when it is asked again. */
  async report(items) {
    const { card } = this;
    const ids = items === undefined ? null : card.checked(items);
    const price = text(card.epsilon);
    const trust = await this.aggregators();
    const known = await this.memory.update((state) => {
      const entry = state.surveys.get(card.survey);
      if (entry !== undefined) {
        if (entry.card !== card.digest || entry.epsilon !== price) {
          throw new LimitError("This survey was answered already with another card or at another price.");
        }
        if (entry.values !== undefined) return entry;
      }
      if (ids === null) throw new LimitError("Nothing was drawn yet: give the items.");
      card.checkTime();
      if (entry === undefined) {
        if (trust !== null && !state.trusted.includes(trust)) {
          throw new LimitError(`The person has not said that they count on this card's aggregators (${trust}).`);
        }
        if (state.limit === null) throw new LimitError("The person has set no limit on what all their answers may show.");
        const left = priceOf(state.limit).minus(spentOf(state));
        if (!card.epsilon.atMost(left)) throw new LimitError("This card costs more than is left of the person's limit.");
        const shared = trust === null ? {} : { aggregators: trust };
        state.surveys.set(card.survey, { card: card.digest, epsilon: price, ...shared });
      }
      return null;
    });
    if (known !== null) return { id: known.id, values: known.values.map(BigInt) };
    const values = card.draw(ids, new SystemWords());
    const drawn = { id: hex(randomBytes(16)), values: values.map(String) };
    // Two tabs may draw at once: the first that is stored is the report.
    const kept = await this.memory.update((state) => {
      const entry = state.surveys.get(card.survey);
      if (entry.values === undefined) Object.assign(entry, drawn);
      return { id: entry.id, values: entry.values };
    });
    return { id: kept.id, values: kept.values.map(BigInt) };
  }

  /** The line that a collector of the local model takes; also what a page can show before it is sent. */
  async line(items) {
    if (this.card.summed) throw new LimitError("An answer in one piece would show everything: it must leave in shares.");
    const { id, values } = await this.report(items);
    const study = JSON.stringify(this.card.survey);
    return `{"barrow":"local report","version":1,"study":${study},"id":"${id}","values":[${values.join(",")}]}`;
  }

  /** The encrypted messages of a shuffle card, in a random order; the same whenever they are asked for. */
  async sealed(items) {
    const { card, memory } = this;
    const { values } = await this.report(items);
    const known = await memory.update((state) => state.surveys.get(card.survey).sealed ?? null);
    if (known !== null) return known.map((message) => unb64(message));
    const key = unb64(card.sealing.key, 32);
    const made = shuffled(await Promise.all(values.map((value) => seal(card.digest, key, value)))).map(b64);
    const kept = await memory.update((state) => {
      const entry = state.surveys.get(card.survey);
      entry.sealed ??= made;
      return entry.sealed;
    });
    return kept.map((message) => unb64(message));
  }

  /** The sealed shares of an aggregated card: nonce, public share, one for each aggregator; the same ever after. */
  async shares(items) {
    const { card, memory } = this;
    const { values } = await this.report(items);
    const known = await memory.update((state) => state.surveys.get(card.survey).shared ?? null);
    if (known !== null) return known.map((part) => unb64(part));
    const keys = card.sealing.keys.map((key) => unb64(key, 32));
    const made = (await shareReport(card, keys, values)).map(b64);
    const kept = await memory.update((state) => {
      const entry = state.surveys.get(card.survey);
      entry.shared ??= made;
      entry.values = []; // an answer has no noise: only shares stay, which nobody here can open
      return entry.shared;
    });
    return kept.map((part) => unb64(part));
  }

  /** Answer the card: resolves with how many were accepted, and how many were there already. */
  async send(items, { invitation = "", fetch = globalThis.fetch } = {}) {
    const { card, memory } = this;
    card.checkTime();
    if (card.summed) {
      const shared = await this.shares(items);
      const [token] = await this.#tokens([signedPart(shared)], invitation, fetch);
      return taken(fetch, card.send.reports, bodyOf(shared, token), "application/octet-stream");
    }
    if (!card.shuffled) {
      const line = await this.line(items);
      const [token] = await this.#tokens([utf8(line)], invitation, fetch);
      const whole = token.length > 0 ? `${line}\t${b64(token)}` : line;
      return taken(fetch, card.send.reports, utf8(`${whole}\n`), "application/x-ndjson");
    }
    const messages = await this.sealed(items);
    const tokens = await this.#tokens(messages, invitation, fetch);
    const whole = messages.map((message, i) => joined(message, tokens[i]));
    const done = {};
    const sent = new Set(await memory.update((state) => state.surveys.get(card.survey).sent ?? []));
    for (const [i, item] of whole.entries()) {
      if (sent.has(i)) continue;
      const found = await taken(fetch, card.send.messages, item, "application/octet-stream");
      for (const [name, count] of Object.entries(found)) done[name] = (done[name] ?? 0) + count;
      sent.add(i);
      await memory.update((state) => { state.surveys.get(card.survey).sent = [...sent].sort((a, b) => a - b); });
    }
    return done;
  }

  /** For each part a token that is good for nothing else; nothing where a front end lets people in. */
  async #tokens(parts, invitation, fetch) {
    const { card, memory } = this;
    if (card.admission.kind !== "tokens") return parts.map(() => new Uint8Array(0));
    const issuer = await readIssuer(unb64(card.admission.key));
    const said = await Promise.all(parts.map((part) => saidOf(card.digest, part)));
    let kept = await memory.update((state) => state.surveys.get(card.survey).tokens ?? null);
    if (kept === null) {
      const made = await Promise.all(said.map((text) => blind(issuer, text)));
      const secrets = made.map((t) => [b64(t.prefix), b64(t.request), t.inverse.toString(16)]);
      const waiting = await memory.update((state) => {
        const entry = state.surveys.get(card.survey);
        entry.blinded ??= secrets;
        return entry.blinded;
      });
      const body = utf8(JSON.stringify({ invitation, blinded: waiting.map(([, request]) => request) }));
      const { signatures } = await answer(fetch, card.send.tokens, body, "application/json");
      if (!Array.isArray(signatures) || signatures.length !== waiting.length) throw new SendError("The issuer gave no tokens.");
      const signed = await Promise.all(waiting.map(async ([prefix, , inverse], i) => {
        const token = { prefix: unb64(prefix), inverse: BigInt(`0x${inverse}`) };
        return b64(joined(token.prefix, await finalize(issuer, said[i], token, unb64(signatures[i]))));
      }));
      kept = await memory.update((state) => {
        const entry = state.surveys.get(card.survey);
        entry.tokens ??= signed;
        return entry.tokens;
      });
    }
    return kept.map((token) => unb64(token, 288));
  }
}

async function answer(fetch, address, body, kind) {
  let response;
  try {
    response = await fetch(address, {
      method: "POST", body, headers: { "Content-Type": kind }, redirect: "error", credentials: "omit",
      referrerPolicy: "no-referrer", cache: "no-store",
    });
  } catch {
    throw new SendError(`${address} cannot be reached.`);
  }
  const said = await response.text();
  let found;
  try {
    found = JSON.parse(said);
  } catch {
    throw new SendError(`${address} answered something that is no JSON (status ${response.status}).`);
  }
  if (response.status === 429) throw new SendError(`${address} is busy (status 429).`);
  if (response.status !== 200) {
    throw new SendError(`${address} refused with status ${response.status}. ${String(found?.problem ?? "").slice(0, 200)}`.trim());
  }
  return found;
}

async function taken(fetch, address, body, kind) {
  const { lines } = await answer(fetch, address, body, kind);
  if (!Array.isArray(lines) || lines.length !== 1) throw new SendError(`${address} did not say what it took.`);
  if (!DONE.includes(lines[0])) throw new Error(`${address} refused what was sent: ${String(lines[0]).slice(0, 100)}.`);
  return { [lines[0]]: 1 };
}
