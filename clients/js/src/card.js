// A card: read strictly, its signature checked, its constants proved; or refused.

import { hex, unb64, utf8 } from "./bytes.js";
import { CardError, Fraction } from "./exact.js";
import { drawLaplace, proveLaplace } from "./laplace.js";
import { drawSamples, proveSamples } from "./samples.js";
import { drawStops, proveStops } from "./stops.js";
import { drawSums, proveSums } from "./sums.js";

const KEYS = [
  "barrow", "version", "study", "question", "survey", "model", "description", "promises", "people", "honest", "messages",
  "labels", "metric", "channel", "local", "claimed", "sealing", "mixing", "admission", "send", "issued", "expires",
  "signer", "signature",
];
const LARGEST = 2 ** 24;
const SLACK_SECONDS = 300;
const AGAIN = "take the card again from where it was published";
const NAME = /^sha256:[0-9a-f]{64}$/;
const PRICE = /^[0-9]{1,400}(\/[1-9][0-9]{0,400})?$/;
const LARGEST_PRICE = new Fraction(10n ** 9n);
const VARIANT = "RSABSSA-SHA384-PSS-Randomized";
const KINDS = {
  stops: [proveStops, drawStops], laplace: [proveLaplace, drawLaplace], sums: [proveSums, drawSums],
  samples: [proveSamples, drawSamples],
};

/** JSON as it is signed: keys sorted at all levels, no spaces; a number that is not a safe integer is refused. */
export function canonical(data) {
  if (Array.isArray(data)) return `[${data.map(canonical).join(",")}]`;
  if (data !== null && typeof data === "object") {
    return `{${Object.keys(data).sort().map((key) => `${JSON.stringify(key)}:${canonical(data[key])}`).join(",")}}`;
  }
  if (typeof data === "number" && !Number.isSafeInteger(data)) throw new CardError("A number of the card is no integer.", AGAIN);
  return JSON.stringify(data);
}

function parsed(source) {
  if (typeof source !== "string") return parsed(JSON.stringify(source) ?? "");  // a copy: nobody changes it meanwhile
  if (source.trimStart().startsWith("<")) throw new CardError("This is an HTML page and not a card.", AGAIN);
  if (source.length > LARGEST) throw new CardError("This is too large for a card.", AGAIN);
  try {
    return JSON.parse(source);
  } catch {
    throw new CardError("This is no JSON of a card.", AGAIN);
  }
}

function checkAddress(address) {
  let url = null;
  try {
    url = new URL(address);
  } catch {
    url = null;
  }
  const here = url !== null && ["127.0.0.1", "localhost", "[::1]"].includes(url.hostname);
  const good = url !== null && (url.protocol === "https:" || (url.protocol === "http:" && here));
  if (!good || url.username !== "" || url.search !== "" || url.hash !== "") {
    throw new CardError("An address of the card is not https://.");
  }
}

/** A price as cards and memories write it: a text such as "3" or "7/2", above 0 and at most 10^9; nothing else. */
export function priceOf(text) {
  const price = typeof text === "string" && PRICE.test(text) ? Fraction.of(text) : null;
  if (price === null || !price.positive || !price.atMost(LARGEST_PRICE)) {
    throw new CardError("A price is not a number above 0 and up to 10^9.");
  }
  return price;
}

const sameKeys = (data, keys) => canonical(Object.keys(data).sort()) === canonical([...keys].sort());
const count = (value) => Number.isSafeInteger(value) && value > 0;

/** Whether everything in a signed card has its form; what follows from its numbers is proved later. */
function checkParts(data) {
  const [local, summed] = [data.model === "local", data.model === "aggregated"];
  if (!local && !summed && data.model !== "shuffle") throw new CardError("The card is of another model.");
  if (summed !== ["sums", "samples"].includes(data.channel.kind)) throw new CardError("The card's channel is of another model.");
  if (typeof data.survey !== "string" || !NAME.test(data.survey)) throw new CardError("The card's survey is not named by a digest.");
  if (!count(data.people) || !count(data.messages)) throw new CardError("The card is about no people, or no messages.");
  if (!Number.isSafeInteger(data.issued) || !Number.isSafeInteger(data.expires)) throw new CardError("The card has no time.");
  const { admission, sealing, mixing } = data;
  const tokens = admission.kind === "tokens";
  if (!sameKeys(admission, tokens ? ["kind", "variant", "key"] : ["kind", "key"])
      || (tokens ? admission.variant !== VARIANT : admission.kind !== "attested")) {
    throw new CardError("The card does not say who lets people in, in a way that is known here.");
  }
  unb64(admission.key, tokens ? undefined : 32);
  if (!sameKeys(data.send, ["card", local || summed ? "reports" : "messages", ...(tokens ? ["tokens"] : [])])) {
    throw new CardError("The card does not say where to send.");
  }
  Object.values(data.send).forEach(checkAddress);
  if (local !== (sealing === null) || (local || summed) !== (mixing === null)) {
    throw new CardError("The card does not say how messages are sealed and mixed.");
  }
  if (summed) checkAggregators(data);
  if (!local && !summed) {
    const known = sameKeys(sealing, ["suite", "key", "plain", "bytes"]) && sameKeys(mixing, ["key"]);
    if (!known || canonical(sealing.suite) !== "[32,1,1]" || sealing.plain !== 16 || sealing.bytes !== 64) {
      throw new CardError("The card asks for another encryption or mixing.");
    }
    unb64(sealing.key, 32);
    unb64(mixing.key, 32);
    if (data.messages !== data.channel.messages) throw new CardError("The card counts other messages than it sends.");
  }
  if (!Array.isArray(data.labels) || data.labels.some((label) => typeof label !== "string")) {
    throw new CardError("The card's items are not named.");
  }
}

/** A key for each aggregator, all different, and as many as the channel and the claim count on. */
function checkAggregators({ sealing, channel, claimed }) {
  const { keys, suite, verify } = sealing;
  if (!sameKeys(sealing, ["suite", "keys", "verify"]) || canonical(suite) !== "[32,1,1]" || !NAME.test(verify)) {
    throw new CardError("The card does not say for whom answers are sealed.");
  }
  keys.forEach((key) => unb64(key, 32));
  const same = keys.length === channel.aggregators && claimed.aggregators === channel.aggregators
    && claimed.dishonest === channel.dishonest;
  if (keys.length < 2 || new Set(keys).size !== keys.length || !same) {
    throw new CardError("The card does not name two or more different aggregators.");
  }
}

/** What answering costs: whoever colludes; of a sum in shares, if enough aggregators keep to the rules. */
const costOf = (data) => priceOf(data.model === "aggregated" ? data.claimed.epsilon : data.local.epsilon);

/** The channel's constants, proved; whoever holds nothing holds an item of the card. */
function prove(data) {
  const kind = Object.hasOwn(KINDS, data.channel.kind) ? KINDS[data.channel.kind] : null;
  if (kind === null) throw new CardError("This survey can only be answered by a client that plans studies.", "use the Python client");
  const { default: nothing } = data.channel;
  if (!Number.isSafeInteger(nothing) || nothing < 0 || nothing >= data.labels.length) {
    throw new CardError("The item of whoever holds nothing is not on the card.");
  }
  return kind[0](data.channel, data.metric, costOf(data), data.labels.length);
}

/** A card that is whole, signed and proved. */
export class Card {
  constructor(data, digest, proved) {
    Object.assign(this, data);
    this.digest = digest;
    this.name = `card-${digest.slice(7, 23)}.json`;
    this.shuffled = data.model === "shuffle";
    this.summed = data.model === "aggregated";
    this.epsilon = costOf(data);
    this.proved = proved;
  }

  /** Refuse a card that has expired, or that is not valid yet by this device's clock. */
  checkTime(now = Date.now() / 1000) {
    const kept = "set the clock, or take a newer card; what was drawn before is kept";
    if (now < this.issued - SLACK_SECONDS) throw new CardError("The card is not valid yet, or the clock is wrong.", kept);
    if (now >= this.expires) throw new CardError("The card has expired, or the clock is wrong.", kept);
  }

  /** Items as numbers, from labels or numbers. */
  itemsOf(held) {
    return held.map((item) => {
      const id = typeof item === "number" ? item : this.labels.indexOf(String(item));
      if (!Number.isSafeInteger(id) || id < 0 || id >= this.labels.length) {
        throw new CardError("An item is not on the card.", "choose items from card.labels");
      }
      return id;
    });
  }

  /** The same, if they can be drawn from: some surveys are for people who hold a certain number of items. */
  checked(held) {
    const { kind, messages, sampled } = this.channel;
    const ids = this.itemsOf(held);
    if (kind === "stops" && !sampled && ids.length !== messages) {
      throw new CardError(`This survey is for people who hold exactly ${messages} items.`, "give that many");
    }
    return ids;
  }

  /** One report, drawn now; a client draws once for each survey and remembers it. */
  draw(held, words) {
    return KINDS[this.channel.kind][1](this.channel, this.proved, this.checked(held), words);
  }
}

/** A card from its JSON text or data; refused unless everything in it is right and proved here. */
export async function readCard(source, { signer } = {}) {
  const data = parsed(source);
  if (data === null || typeof data !== "object" || data.barrow !== "card") throw new CardError("This is no card.", AGAIN);
  if (data.version !== 2) throw new CardError(`The card is of version ${String(data.version).slice(0, 9)}.`, "update this client");
  if (!sameKeys(data, KEYS)) throw new CardError("The card has other keys than a card.", AGAIN);
  const { signature, ...rest } = data;
  const bytes = utf8(canonical(rest));
  let right = false;
  try {
    const key = await crypto.subtle.importKey("raw", unb64(data.signer, 32), { name: "Ed25519" }, false, ["verify"]);
    right = await crypto.subtle.verify({ name: "Ed25519" }, key, unb64(signature, 64), bytes);
  } catch (error) {
    if (error?.name === "NotSupportedError") throw error;
    right = false;
  }
  if (!right) throw new CardError("The card was changed after it was signed.", AGAIN);
  if (signer !== undefined && signer !== data.signer) throw new CardError("The card is signed by somebody else.");
  const digest = `sha256:${hex(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)))}`;
  try {
    checkParts(data);
    return new Card(data, digest, prove(data));
  } catch (error) {
    if (error instanceof CardError) throw error;
    throw new CardError("The card is not whole.");  // something in it has another type
  }
}
