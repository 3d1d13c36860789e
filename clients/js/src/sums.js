// Channel `sums`: an answer rounded at random to a public grid, which leaves in shares, one sealed for each aggregator.

import { hex, joined, utf8 } from "./bytes.js";
import { CardError, Fraction, floorDiv } from "./exact.js";
import { proveTable } from "./laplace.js";
import { Edges, NONCE, Prio3 } from "./prio3.js";
import { sealBytes } from "./sealing.js";
import { randomBytes } from "./words.js";

const MARK = Uint8Array.of(66, 83, 83, 1); // BSS, and the version
const ALL = 255;
const LEVELS = 2 ** 41;
/** Whether a value is a whole number from 0 on, and not too large. */
export const whole = (value, most = LEVELS) => Number.isSafeInteger(value) && value >= 0 && value <= most;

/** Refuses a channel that all aggregators may break, or that does not say how many may. */
export function checkParties({ aggregators, dishonest }) {
  if (!whole(aggregators, 255) || !whole(dishonest, 254) || dishonest < 1 || dishonest >= aggregators) {
    throw new CardError("The card does not say how many aggregators may break the rules.");
  }
}

/** Refuses a channel whose noise does not hide what the card says, if enough aggregators keep to the rules; exact. */
export function proveSums(channel, metric, epsilon, items) {
  const [rate, grid, alpha] = [channel.rate, channel.grid, channel.alpha].map(Fraction.of);
  if (!rate.positive || !grid.positive || !alpha.positive) throw new CardError("The grid or the noise of the sum is wrong.");
  checkParties(channel);
  // Discrete noise with p = 1/(1 + rate) on a grid h hides as Laplace noise of scale h/rate does.
  const proved = proveTable(channel, metric, epsilon, items, grid.over(rate), alpha);
  const columns = proved.table[0].length;
  const offsets = channel.offsets.map((offset) => Fraction.of(offset));
  const { most, groups } = channel;
  const members = groups.every(([which, floor, span]) => whole(floor) && whole(span) && which.length > 0
    && new Set(which).size === which.length && which.every((j) => whole(j, columns - 1)));
  if (offsets.length !== columns || offsets.some((offset) => offset.d !== 1n) || most.length !== columns
      || !most.every((value) => whole(value) && value > 0) || !members) {
    throw new CardError("The card's ranges are about other numbers.");
  }
  return { ...proved, grid, most, groups, offsets: offsets.map((offset) => offset.n) };
}

/** Whether a uniform number that begins with these bits is below a fraction; null where they leave it open. */
const below = (bits, length, chance) => {
  const scaled = chance.n << length;
  const low = scaled / chance.d;
  const high = -floorDiv(-scaled, chance.d);
  if (bits < low) return true;
  return bits >= high ? false : null;
};

/** One person's whole numbers: each answer over the grid, up by a coin on its exact fraction. They never leave in one piece. */
export function drawSums(channel, proved, held, words) {
  const { table, step, grid, offsets } = proved;
  const items = held.length > 0 ? held : [channel.default];
  const answers = offsets.map((_, j) => {
    const sum = items.reduce((total, item) => total + table[item][j], 0n);
    return step.times(new Fraction(sum, BigInt(items.length))).over(grid);
  });
  const floors = answers.map((answer) => floorDiv(answer.n, answer.d));
  const first = words.take(answers.length);
  return answers.map((answer, j) => {
    const chance = answer.minus(new Fraction(floors[j]));
    let [bits, length] = [first[j], 64n];
    let up = below(bits, length, chance);
    while (up === null) {
      bits = (bits << 64n) | words.take(1)[0];
      length += 64n;
      up = below(bits, length, chance);
    }
    return floors[j] + (up ? 1n : 0n) - offsets[j];
  });
}

/** The name of a card's aggregators, to which a person opts in. */
export async function aggregatorsOf(keys) {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(keys.join(" "))))).slice(0, 16);
}

/** A report in shares, sealed; made once and stored before anything is sent. */
export async function shareReport(card, keys, values) {
  const { most, groups } = card.proved;
  const prio3 = new Prio3(new Edges(most, groups), keys.length, card.digest);
  const nonce = randomBytes(NONCE);
  const made = prio3.shard(values.map(Number), nonce, randomBytes(prio3.randomSize));
  const info = (i) => joined(utf8(`barrow share 1 ${card.digest} ${i} `), nonce, made.public);
  const sealed = await Promise.all(made.shares.map((share, i) => sealBytes(info(i), keys[i], share)));
  return [nonce, made.public, ...sealed];
}

/** What a token signs: nonce and public share, which binds all others. */
export const signedPart = ([nonce, shared]) => joined(nonce, shared);

/** What is posted to the leader. */
export const bodyOf = (report, admission) => joined(MARK, Uint8Array.of(ALL), signedPart(report), admission, ...report.slice(2));
