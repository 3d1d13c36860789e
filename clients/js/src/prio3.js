// A client's half of Prio3 (VDAF draft, wire version 18): shares of whole numbers in ranges, with proofs; Field64, 3 proofs.

import { joined, utf8 } from "./bytes.js";
import { TurboShake128 } from "./keccak.js";

const P = 2n ** 64n - 2n ** 32n + 1n;
const VERSION = 18;
const ALGORITHM = 0xffff0001;
const PROOFS = 3;
export const SEED = 32;
export const NONCE = 16;
const [MEASUREMENT, PROOF, JOINT, PROVE, , JOINT_SEED, JOINT_PART] = [1, 2, 3, 4, 5, 6, 7];

const minus = (a, b) => (a >= b ? a - b : a - b + P);
const plus = (a, b) => (a + b >= P ? a + b - P : a + b);
const power = (base, exponent) => {
  let result = 1n;
  for (let b = base; exponent > 0n; exponent >>= 1n, b = (b * b) % P) if (exponent & 1n) result = (result * b) % P;
  return result;
};
const rootsOf = (n) => {
  const root = power(7n, (P - 1n) / BigInt(n));
  const roots = [1n];
  while (roots.length < n) roots.push((roots.at(-1) * root) % P);
  return roots;
};
const widthOf = (most) => most.toString(2).length;

/** Elements as they are sent: eight bytes each, the lowest first. */
function written(elements) {
  const view = new DataView(new ArrayBuffer(8 * elements.length));
  elements.forEach((element, i) => view.setBigUint64(8 * i, element, true));
  return new Uint8Array(view.buffer);
}

/** Ranges of entries (`most`) and of sums (`groups`: members, floor, span), written in bits. */
export class Edges {
  constructor(most, groups, chunk = null) {
    this.most = most;
    this.groups = groups;
    this.ranges = [...most, ...groups.filter(([, , span]) => span > 0).map(([, , span]) => span)];
    this.length = this.ranges.reduce((sum, range) => sum + widthOf(range), 0);
    this.arity = chunk ?? this.shortest();
    this.calls = Math.ceil(this.length / this.arity);
    this.points = 2;
    while (this.points < this.calls + 1) this.points *= 2;
    this.proofLength = 2 * this.arity + 2 * this.points - 1;
  }

  /** How many bits of one call make the proof shortest; of equals the one with fewer points. */
  shortest() {
    let best = null;
    for (let size = 2; size < 8 * this.length; size *= 2) {
      const chunk = Math.ceil(this.length / (size - 1));
      if (best === null || chunk + size < best.cost) best = { chunk, cost: chunk + size };
    }
    return best.chunk;
  }

  encode(values) {
    if (values.length !== this.most.length) throw new RangeError("The report has another number of entries.");
    const sums = this.groups.map(([members, floor]) => members.reduce((sum, i) => sum + values[i], -floor));
    const pairs = [...values.map((value, i) => [value, this.most[i]]), ...sums.map((sum, i) => [sum, this.groups[i][2]])];
    const bits = [];
    for (const [value, most] of pairs) {
      if (!Number.isSafeInteger(value) || value < 0 || value > most) throw new RangeError("An entry or a sum is out of its range.");
      if (most === 0) continue;
      const width = widthOf(most);
      const rest = 2 ** (width - 1) - 1;
      const top = value > rest;
      let left = top ? value - (most - rest) : value;
      for (let i = 0; i < width - 1; i += 1, left = Math.floor(left / 2)) bits.push(left % 2 === 1 ? 1n : 0n);
      bits.push(top ? 1n : 0n);
    }
    return bits;
  }
}

/** Values at the n-th roots of unity of a polynomial, of its coefficients; in place of them. */
function transform(values, roots) {
  const n = values.length;
  for (let i = 1, j = 0; i < n; i += 1) {
    let bit = n >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) [values[i], values[j]] = [values[j], values[i]];
  }
  for (let size = 2; size <= n; size *= 2) {
    const half = size / 2;
    const step = n / size;
    for (let start = 0; start < n; start += size) {
      for (let i = 0; i < half; i += 1) {
        const even = values[start + i];
        const odd = i === 0 ? values[start + half] : (values[start + half + i] * roots[i * step]) % P;
        values[start + i] = plus(even, odd);
        values[start + half + i] = minus(even, odd);
      }
    }
  }
}

export class Prio3 {
  /** circuit: an Edges; aggregators: how many; context: the bytes that everything is bound to. */
  constructor(circuit, aggregators, context, algorithm = ALGORITHM) {
    this.algorithm = algorithm;
    this.circuit = circuit;
    this.aggregators = aggregators;
    this.context = typeof context === "string" ? utf8(context) : context;
    this.randomSize = 2 * aggregators * SEED;
    const n = circuit.points;
    this.roots = rootsOf(n);
    const inverse = power(BigInt(n), P - 2n);
    this.shift = rootsOf(2 * n).slice(0, n).map((root) => (root * inverse) % P);
  }

  stream(seed, usage, binder) {
    const tag = new Uint8Array(8);
    const view = new DataView(tag.buffer);
    view.setUint8(0, VERSION);
    view.setUint32(2, this.algorithm);
    view.setUint16(6, usage);
    const size = tag.length + this.context.length;
    const head = Uint8Array.of(size & 255, size >> 8);
    return new TurboShake128(joined(head, tag, this.context, Uint8Array.of(seed.length), seed, binder));
  }

  expand(seed, usage, binder, length) {
    const stream = this.stream(seed, usage, binder);
    const bytes = stream.read(8 * length);
    const view = new DataView(bytes.buffer);
    const result = [];
    for (let i = 0; i < length; i += 1) {
      const element = view.getBigUint64(8 * i, true);
      if (element < P) result.push(element);
    }
    while (result.length < length) {
      const element = new DataView(stream.read(8).buffer).getBigUint64(0, true);
      if (element < P) result.push(element);
    }
    return result;
  }

  part(index, blind, share, nonce) {
    return this.stream(blind, JOINT_PART, joined(Uint8Array.of(index), nonce, written(share))).read(SEED);
  }

  /** One proof: random values that begin the wires, then the gadget's polynomial along them, but for its last point. */
  prove(bits, seeds, joint) {
    const { arity, calls, points, length } = this.circuit;
    const gadget = new Array(2 * points).fill(0n);
    for (let j = 0; j < arity; j += 1) {
      const left = new Array(points).fill(0n);
      const right = new Array(points).fill(0n);
      [left[0], right[0]] = [seeds[2 * j], seeds[2 * j + 1]];
      for (let k = 0; k < calls; k += 1) {
        const place = k * arity + j;
        const bit = place < length ? bits[place] : 0n;
        if (bit !== 0n) left[k + 1] = joint.powers[k];
        right[k + 1] = minus(bit, 1n);
        joint.powers[k] = (joint.powers[k] * joint.base[k]) % P;
      }
      for (let k = 0; k < points; k += 1) {
        if (left[k] !== 0n) gadget[2 * k] = (gadget[2 * k] + left[k] * right[k]) % P;
      }
      this.between(left);
      this.between(right);
      for (let k = 0; k < points; k += 1) gadget[2 * k + 1] = (gadget[2 * k + 1] + left[k] * right[k]) % P;
    }
    return [...seeds, ...gadget.slice(0, -1)];
  }

  /** Values of a polynomial half-way between the roots of unity at which it is given, in their place. */
  between(values) {
    transform(values, this.roots);
    const back = [values[0], ...values.slice(1).reverse()];
    for (let i = 0; i < back.length; i += 1) values[i] = (back[i] * this.shift[i]) % P;
    transform(values, this.roots);
  }

  /** The public share and one share for each aggregator. */
  shard(values, nonce, random) {
    const { circuit, aggregators } = this;
    if (nonce.length !== NONCE || random.length !== this.randomSize) throw new RangeError("The randomness has a wrong size.");
    const seeds = Array.from({ length: 2 * aggregators }, (_, i) => random.slice(SEED * i, SEED * (i + 1)));
    const [blind, prover] = seeds.slice(-2);
    const bits = circuit.encode(values);
    let leader = bits;
    const parts = [];
    for (let i = 1; i < aggregators; i += 1) {
      const share = this.expand(seeds[2 * i - 2], MEASUREMENT, Uint8Array.of(i), circuit.length);
      leader = leader.map((value, k) => minus(value, share[k]));
      parts.push(this.part(i, seeds[2 * i - 1], share, nonce));
    }
    parts.unshift(this.part(0, blind, leader, nonce));
    const seed = this.stream(new Uint8Array(SEED), JOINT_SEED, joined(...parts)).read(SEED);
    const joint = this.expand(seed, JOINT, Uint8Array.of(PROOFS), PROOFS * circuit.calls);
    const wires = this.expand(prover, PROVE, Uint8Array.of(PROOFS), PROOFS * 2 * circuit.arity);
    let proofs = [];
    for (let k = 0; k < PROOFS; k += 1) {
      const base = joint.slice(k * circuit.calls, (k + 1) * circuit.calls);
      const own = wires.slice(k * 2 * circuit.arity, (k + 1) * 2 * circuit.arity);
      proofs = proofs.concat(this.prove(bits, own, { base, powers: [...base] }));
    }
    for (let i = 1; i < aggregators; i += 1) {
      const share = this.expand(seeds[2 * i - 2], PROOF, Uint8Array.of(PROOFS, i), PROOFS * circuit.proofLength);
      proofs = proofs.map((value, k) => minus(value, share[k]));
    }
    const helpers = Array.from({ length: aggregators - 1 }, (_, i) => joined(seeds[2 * i], seeds[2 * i + 1]));
    return { public: joined(...parts), shares: [joined(written(leader), written(proofs), blind), ...helpers] };
  }
}
