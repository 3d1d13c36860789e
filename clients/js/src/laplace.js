// Laplace noise on an exact answer, rounded once: bits of a uniform number are drawn until the rounded value is certain.

import { CardError, Fraction, ZERO, floorDiv, minusLog } from "./exact.js";
import { readTree } from "./stops.js";

const distance1 = (a, b) => a.reduce((sum, value, j) => sum + (value > b[j] ? value - b[j] : b[j] - value), 0n);

function lineProof(points, table, step, bound) {
  if (points[0].negative || !points.at(-1).atMost(new Fraction(1n))) throw new CardError("A point lies outside [0, 1].");
  for (let x = 1; x < points.length; x += 1) {
    const apart = points[x].minus(points[x - 1]);
    if (!apart.positive) throw new CardError("The points of the line are out of order.");
    const change = step.times(new Fraction(distance1(table[x], table[x - 1])));
    if (!change.atMost(bound.times(apart))) throw new CardError("The card's scale does not give its alpha.");
  }
  return points.at(-1).minus(points[0]);
}

/** What a row holds beside zeros: most rows of a tree hold as many numbers as it is deep. */
const sparse = (row) => row.flatMap((value, j) => (value === 0n ? [] : [[j, value]]));

/** The l1 distance of two sparse rows. */
function apartBy(a, b) {
  let [i, k, sum] = [0, 0, 0n];
  while (i < a.length || k < b.length) {
    const [x, y] = [a[i]?.[0] ?? Infinity, b[k]?.[0] ?? Infinity];
    const change = (x <= y ? a[i][1] : 0n) - (y <= x ? b[k][1] : 0n);
    sum += change < 0n ? -change : change;
    if (x <= y) i += 1;
    if (y <= x) k += 1;
  }
  return sum;
}

function treeProof(metric, rows, step, bound) {
  const { tree, leaves } = readTree(metric.nodes, metric.depths.map(Fraction.of), rows.length);
  const common = tree.reduce((d, node) => d * new Fraction(node.depth.d, d).n, 1n); // all depths are whole in units of it
  const depths = tree.map(({ depth }) => depth.n * (common / depth.d));
  const [left, right] = [step.n * bound.d * common, bound.n * step.d];
  const way = (v) => (v === -1 ? [] : [...way(tree[v].parent), v]);
  const ways = leaves.map(way);
  let widest = 0n;
  for (let x = 0; x < leaves.length; x += 1) {
    for (let y = 0; y < x; y += 1) {
      let meet = 0;
      while (ways[x][meet + 1] !== undefined && ways[x][meet + 1] === ways[y][meet + 1]) meet += 1;
      const apart = depths[leaves[x]] + depths[leaves[y]] - 2n * depths[ways[x][meet]];
      if (apartBy(rows[x], rows[y]) * left > right * apart) throw new CardError("The card's scale does not give its alpha.");
      if (apart > widest) widest = apart;
    }
  }
  return new Fraction(widest, common);
}

/** The largest l1 distance of two rows. */
function widestChange(table, rows) {
  if (table[0].length === 1) {
    const values = table.map((row) => row[0]);
    const largest = values.reduce((a, b) => (a > b ? a : b));
    return largest - values.reduce((a, b) => (a < b ? a : b));
  }
  if (table.length > 3000) throw new CardError("The card's table is too large to prove here.", "use the Python client");
  let widest = 0n;
  for (let x = 0; x < rows.length; x += 1) {
    for (let y = 0; y < x; y += 1) {
      const change = apartBy(rows[x], rows[y]);
      if (change > widest) widest = change;
    }
  }
  return widest;
}

/** Refuses a channel whose scale does not hide what the card says; exact. */
export function proveLaplace(channel, metric, epsilon, items) {
  const [scale, grid, alpha] = [channel.scale, channel.grid, channel.alpha].map(Fraction.of);
  if (!scale.positive || !grid.positive || !grid.atMost(scale) || !alpha.positive) {
    throw new CardError("The scale, the grid or the step of the noise is wrong.");
  }
  return { ...proveTable(channel, metric, epsilon, items, scale, alpha), scale, grid };
}

/** Refuses a table that noise of this scale does not hide at this alpha, and at the card's price; exact. */
export function proveTable(channel, metric, epsilon, items, scale, alpha) {
  const step = Fraction.of(channel.step);
  if (!step.positive) throw new CardError("The step of the table is wrong.");
  const table = channel.table.map((row) => row.map((value) => (value === "0" ? ZERO : Fraction.of(value))));
  const columns = table[0]?.length ?? 0;
  if (table.length !== items || columns < 1 || table.some((row) => row.length !== columns || row.some((v) => v.d !== 1n))) {
    throw new CardError("The card's table is about other items.");
  }
  const whole = table.map((row) => row.map((value) => value.n));
  const rows = whole.map(sparse);
  const bound = scale.times(alpha);
  let widest;
  if (metric.kind === "line" && metric.points.length === items) {
    widest = lineProof(metric.points.map(Fraction.of), whole, step, bound);
  } else if (metric.kind === "tree" && items <= 3000) {
    widest = treeProof(metric, rows, step, bound);
  } else {
    throw new CardError("The card's distances are of a kind that this client cannot prove.");
  }
  // No two items differ by more than scale alpha times the widest distance; where that is too much, by how much they do.
  if (!alpha.times(widest).atMost(epsilon) && !step.times(new Fraction(widestChange(whole, rows))).atMost(scale.times(epsilon))) {
    throw new CardError("Answering costs more than the card says.");
  }
  return { table: whole, step };
}

/** floor(a + sign b z) for the two ends of -ln U, or null where these bits leave it open. */
function rounded(a, b, sign, bits, length) {
  const at = (numerator) => {
    for (let precision = 128n; ; precision *= 2n) {
      const [low, high] = minusLog(numerator, length, precision);
      const ends = [low, high].map((z) => {
        const value = a.n * b.d * (1n << precision) + sign * b.n * z * a.d;
        return floorDiv(value, a.d * b.d * (1n << precision));
      });
      if (ends[0] === ends[1]) return ends[0];
      if (precision > 1n << 16n) throw new CardError("The noise cannot be rounded.", "try again");
    }
  };
  if (bits === 0n) return null;
  const one = at(bits);
  return one === at(bits + 1n) ? one : null;
}

/** One person's report: the rounded answers. */
export function drawLaplace(channel, proved, held, words) {
  const { table, scale, grid, step } = proved;
  const items = held.length > 0 ? held : [channel.default];
  const count = BigInt(items.length);
  const columns = table[0].length;
  const half = new Fraction(1n, 2n);
  const centers = Array.from({ length: columns }, (_, j) => {
    const sum = items.reduce((total, item) => total + table[item][j], 0n);
    return step.times(new Fraction(sum, count)).over(grid).plus(half);
  });
  const spread = scale.over(grid);
  const drawn = words.take(columns).map((word) => {
    const negative = word >> 63n === 1n;
    const v = negative ? (1n << 64n) - 1n - word : word;
    return { sign: negative ? -1n : 1n, bits: v, length: 63n };
  });
  const values = new Array(columns).fill(null);
  let open = [...values.keys()];
  for (;;) {
    open = open.filter((j) => {
      values[j] = rounded(centers[j], spread, drawn[j].sign, drawn[j].bits, drawn[j].length);
      return values[j] === null;
    });
    if (open.length === 0) return values;
    const more = words.take(open.length);
    open.forEach((j, k) => {
      drawn[j].bits = (drawn[j].bits << 64n) | more[k];
      drawn[j].length += 64n;
    });
  }
}
