// Randomised response, GKRR and trees: stop at a node on the way from the root to the item, report an item below it.

import { CardError, Fraction, ONE, ZERO, certainlyAtMostExp, least } from "./exact.js";
import { bitLength } from "./words.js";

const TOTAL = 1n << 62n;

/** The nodes of a tree with their children and leaves; refused unless spans nest and every item has its own leaf. */
export function readTree(nodes, depths, items) {
  const tree = nodes.map(([start, end, parent], v) => ({ start, end, parent, children: [], depth: depths[v] }));
  if (tree.length === 0 || depths.length !== tree.length) throw new CardError("The tree has no node, or other depths.");
  tree.forEach((node, v) => {
    const whole = [node.start, node.end, node.parent].every(Number.isSafeInteger);
    const above = v === 0 ? node.parent === -1 : node.parent >= 0 && node.parent < v;
    if (!whole || !above || node.start >= node.end) throw new CardError("The nodes of the tree are out of order.");
    if (v > 0) {
      tree[node.parent].children.push(v);
      if (tree[node.parent].depth.minus(node.depth).positive) throw new CardError("A node lies above its parent.");
    }
  });
  if (tree[0].start !== 0 || tree[0].end !== items) throw new CardError("The tree is about other items.");
  const leaves = new Array(items).fill(-1);
  tree.forEach((node, v) => {
    if (node.children.length === 0) {
      if (node.end - node.start !== 1 || leaves[node.start] !== -1) throw new CardError("An item has no leaf of its own.");
      leaves[node.start] = v;
      return;
    }
    let at = node.start;
    for (const child of [...node.children].sort((a, b) => tree[a].start - tree[b].start)) {
      if (tree[child].start !== at) throw new CardError("The spans of the tree do not nest.");
      at = tree[child].end;
    }
    if (at !== node.end) throw new CardError("The spans of the tree do not nest.");
  });
  return { tree, leaves };
}

/** For each node the lengths of the two shortest ways down to a leaf through different children. */
function shortestWays(tree) {
  const ways = tree.map(() => []);
  for (let v = tree.length - 1; v >= 0; v -= 1) {
    if (tree[v].children.length === 0) ways[v] = [{ child: -1, length: ZERO }];
    ways[v].sort((a, b) => (a.length.atMost(b.length) ? -1 : 1));
    if (v > 0) {
      const { parent } = tree[v];
      const length = ways[v][0].length.plus(tree[v].depth.minus(tree[parent].depth));
      ways[parent].push({ child: v, length });
    }
  }
  return ways;
}

/** Refuses a channel that is not alpha0-d-private, or whose weights do not sum up; exact. */
export function proveStops(channel, metric, epsilon, items) {
  if (metric.kind !== "tree") throw new CardError("The card's distances are not those of a tree.");
  const weights = channel.nodes.map((node) => Fraction.of(node[3]));
  if (weights.some((weight) => weight.d !== 1n)) throw new CardError("A weight is no whole number.");
  const stops = weights.map((weight) => weight.n);
  const { tree, leaves } = readTree(channel.nodes, metric.depths.map(Fraction.of), items);
  if (stops.some((stop) => stop < 0n) || stops[0] < 1n) throw new CardError("A weight is negative, or the root's is 0.");
  const alpha0 = Fraction.of(channel.alpha0);
  const ways = shortestWays(tree);
  const sums = tree.map(() => 0n);
  const shares = tree.map(() => ZERO);
  tree.forEach((node, v) => {
    const share = new Fraction(stops[v], BigInt(node.end - node.start));
    sums[v] = (v === 0 ? 0n : sums[node.parent]) + stops[v];
    shares[v] = v === 0 ? share : shares[node.parent].plus(share);
  });
  for (const leaf of leaves) {
    if (sums[leaf] !== TOTAL) throw new CardError("The weights on the way to an item do not sum to 2^62.");
    for (let child = leaf, u = tree[leaf].parent; u !== -1; child = u, u = tree[u].parent) {
      const other = ways[u].find((way) => way.child !== child);
      if (other === undefined) continue;
      const distance = least(ONE, tree[leaf].depth.minus(tree[u].depth).plus(other.length));
      const ratio = shares[leaf].over(shares[u]);
      if (!certainlyAtMostExp(ratio.n, ratio.d, alpha0.times(distance))) {
        throw new CardError("The card's alpha0 does not follow from its weights.");
      }
    }
  }
  if (!Number.isSafeInteger(channel.messages) || channel.messages < 1) throw new CardError("The card asks for no report.");
  if (!alpha0.times(new Fraction(BigInt(channel.messages))).atMost(epsilon)) {
    throw new CardError("Answering costs more than the card says.");
  }
  return { tree, leaves, stops };
}

/** Places below `held`, `count` of them, with replacement: halves of words, refused ones drawn again together. */
export function sampledPlaces(held, count, words) {
  const size = BigInt(held);
  const refused = (1n << 32n) % size;
  const places = new Array(count);
  let open = [...places.keys()];
  while (open.length > 0) {
    const halves = words.take(Math.ceil(open.length / 2)).flatMap((word) => [word & 0xffffffffn, word >> 32n]);
    open = open.filter((place, i) => {
      const product = halves[i] * size;
      if ((product & 0xffffffffn) < refused) return true;
      places[place] = Number(product >> 32n);
      return false;
    });
  }
  return places;
}

/** One person's report: as many items as messages, in ascending order. */
export function drawStops(channel, proved, held, words) {
  const { tree, leaves, stops } = proved;
  const items = channel.sampled
    ? sampledPlaces(Math.max(held.length, 1), channel.messages, words).map((place) =>
        held.length > 0 ? held[place] : channel.default)
    : held;
  const nodes = words.take(items.length).map((word, i) => {
    const way = [];
    for (let v = leaves[items[i]]; v !== -1; v = tree[v].parent) way.push(v);
    const t = word >> 2n;
    let sum = 0n;
    for (const v of way.reverse()) {
      sum += stops[v];
      if (t < sum) return v;
    }
    throw new CardError("The weights do not sum to 2^62.");
  });
  const values = nodes.map((v) => tree[v].start);
  let open = [...nodes.keys()].filter((i) => tree[nodes[i]].end - tree[nodes[i]].start > 1);
  while (open.length > 0) {
    const drawn = words.take(open.length);
    open = open.filter((i, k) => {
      const width = BigInt(tree[nodes[i]].end - tree[nodes[i]].start);
      const found = drawn[k] >> (64n - bitLength(width - 1n));
      if (found >= width) return true;
      values[i] += Number(found);
      return false;
    });
  }
  return values.sort((a, b) => a - b).map(BigInt);
}

