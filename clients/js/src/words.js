// The only door to randomness: 64-bit words of the platform's cryptographic generator.

/** Uniform 64-bit words as BigInts. */
export class SystemWords {
  take(count) {
    const words = [];
    while (words.length < count) {
      const part = new BigUint64Array(Math.min(count - words.length, 8192));
      globalThis.crypto.getRandomValues(part);
      words.push(...part);
    }
    return words;
  }
}

export const bitLength = (n) => (n === 0n ? 0n : BigInt(n.toString(2).length));

/** Random bytes. */
export const randomBytes = (size) => globalThis.crypto.getRandomValues(new Uint8Array(size));

/** Uniform in 0 … n - 1, by rejection. */
export function below(n, words = new SystemWords()) {
  const bits = bitLength(n - 1n);
  const count = Number((bits + 63n) / 64n);
  if (count === 0) return 0n;
  for (;;) {
    const drawn = words.take(count).reduce((all, word) => (all << 64n) | word, 0n);
    const found = drawn >> (64n * BigInt(count) - bits);
    if (found < n) return found;
  }
}

/** The entries in a uniformly random order. */
export function shuffled(entries) {
  const mixed = [...entries];
  for (let i = mixed.length - 1; i > 0; i -= 1) {
    const j = Number(below(BigInt(i + 1)));
    [mixed[i], mixed[j]] = [mixed[j], mixed[i]];
  }
  return mixed;
}
