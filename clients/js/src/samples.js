// Channel `samples`: how many of s random samples of a person's items lie at each node of a public graph.

import { CardError, Fraction, ONE, ZERO } from "./exact.js";
import { sampledPlaces } from "./stops.js";
import { checkParties, whole } from "./sums.js";

const MOST_SAMPLES = 2 ** 20 - 1;
const MOST_NODES = 2000;
const TERMS = 25n; // odd, so that what is left out is positive
const BITS = 256n;

/** Edges at each node, with lengths as doubles; refused unless lengths are positive and exact there. */
function readGraph({ kind, nodes, edges }) {
  if (kind !== "graph" || !whole(nodes, MOST_NODES) || nodes < 1) throw new CardError("The card's distances are not those of a graph.");
  const near = Array.from({ length: nodes }, () => []);
  for (const [head, tail, text] of edges) {
    const exact = Fraction.of(text);
    const length = Number(exact.n) / Number(exact.d);
    const same = Number.isFinite(length) && length > 0 && BigInt(Number(exact.n)) === exact.n && (exact.d & (exact.d - 1n)) === 0n;
    if (!whole(head, nodes - 1) || !whole(tail, nodes - 1) || head === tail || !same) {
      throw new CardError("An edge of the card's graph is none.");
    }
    near[head].push([tail, length]);
    near[tail].push([head, length]);
  }
  return near;
}

/** The largest distance from one node to those that samples can reach, in doubles: sums of the lengths along ways. */
function farthest(near, start, reached) {
  const far = new Float64Array(near.length).fill(Infinity);
  far[start] = 0;
  const queue = [start];
  const waiting = new Uint8Array(near.length);
  for (let i = 0; i < queue.length; i += 1) { // whoever became nearer is looked at again
    const v = queue[i];
    waiting[v] = 0;
    for (const [u, length] of near[v]) {
      if (far[v] + length < far[u]) {
        far[u] = far[v] + length;
        if (waiting[u] === 0) queue.push(u);
        waiting[u] = 1;
      }
    }
  }
  return reached.reduce((most, v) => Math.max(most, far[v]), 0);
}

/** A double as a fraction. */
function exactly(value) {
  let [n, d] = [value, 1n];
  while (!Number.isInteger(n)) [n, d] = [n * 2, d * 2n];
  return new Fraction(BigInt(n), d);
}

/** Whether y e^(y/s) <= alpha is certain: by an alternating series for e^(-y/s) that ends below it, rounded down. */
function priceAtMost(y, s, alpha) {
  const z = y.over(new Fraction(BigInt(s)));
  if (!z.atMost(ONE)) return false;
  const low = (z.n << BITS) / z.d;
  let [least, most, sum] = [1n << BITS, 1n << BITS, 1n << BITS];
  for (let k = 1n; k <= TERMS; k += 1n) {
    least = ((least * low) >> BITS) / k;
    most = ((most * (low + 1n)) >> BITS) / k + 2n;
    sum += k % 2n === 0n ? least : -most;
  }
  return y.atMost(alpha.times(new Fraction(sum, 1n << BITS)));
}

/** Refuses a channel whose noise does not hide what the card says, if enough aggregators keep to the rules; certain. */
export function proveSamples(channel, metric, epsilon, items) {
  const [alpha, inner] = [channel.alpha, channel.inner].map(Fraction.of);
  const { samples } = channel;
  if (!alpha.positive || !inner.positive || !whole(samples, 2 ** 24) || samples < 1) {
    throw new CardError("The samples or the noise of the sum are wrong.");
  }
  if (samples > MOST_SAMPLES) throw new CardError("The card asks for more samples than are drawn here.", "use the Python client");
  checkParties(channel);
  const near = readGraph(metric);
  const rows = channel.rows.map((row) => row.map(([node, weight]) => [node, Fraction.of(weight)]));
  const total = rows[0]?.reduce((sum, [, weight]) => sum.plus(weight), ZERO) ?? ZERO;
  const fits = (row) => row.length > 0 && row.every(([node, weight]) => whole(node, metric.nodes - 1) && weight.positive && weight.d === 1n)
    && row.reduce((sum, [, weight]) => sum + weight.n, 0n) === total.n;
  if (rows.length !== items || !rows.every(fits) || (total.n & (total.n - 1n)) !== 0n || total.n > 1n << 62n) {
    throw new CardError("The card does not say at which nodes its items lie.");
  }
  const reached = [...new Set(rows.flat().map(([node]) => node))];
  const slack = 1 + metric.nodes * 2 ** -50; // each of at most so many sums is off by a part of 2^-53
  const widest = Math.max(...reached.map((v) => farthest(near, v, reached))) * slack;
  if (!Number.isFinite(widest)) throw new CardError("The card's graph is in pieces.");
  // Moving all samples as far as they can go costs inner * widest, and any change at most alpha for each unit of length.
  const y = inner.times(exactly(Math.max(widest, 1)));
  if (!y.atMost(epsilon)) throw new CardError("Answering costs more than the card says.");
  if (!priceAtMost(y, samples, alpha)) throw new CardError("The card's noise does not give its alpha.");
  const nodes = Array.from({ length: metric.nodes }, (_, v) => v);
  const bits = BigInt(total.n.toString(2).length - 1);
  return {
    rows: rows.map((row) => row.map(([node, weight]) => [node, weight.n])), bits, nodes: metric.nodes,
    most: nodes.map(() => samples), groups: [[nodes, samples, 0]],
  };
}

/** One person's counts: an item of theirs for each sample, then a node by its weights; they never leave in one piece. */
export function drawSamples(channel, proved, held, words) {
  const items = held.length > 0 ? held : [channel.default];
  const places = sampledPlaces(items.length, channel.samples, words);
  const drawn = proved.bits === 0n ? null : words.take(channel.samples);
  const counts = new Array(proved.nodes).fill(0n);
  places.forEach((place, i) => {
    let left = drawn === null ? 0n : drawn[i] >> (64n - proved.bits);
    const row = proved.rows[items[place]];
    const [node] = row.find(([, weight]) => {
      if (left < weight) return true;
      left -= weight;
      return false;
    });
    counts[node] += 1n;
  });
  return counts;
}
