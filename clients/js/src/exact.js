// Exact numbers: fractions of BigInts, and bounds on exp and ln whose side is certain.

export class CardError extends Error {
  constructor(problem, fix = "do not report to this card; ask whoever published it") {
    super(`${problem} Fix: ${fix}`);
    this.name = "CardError";
  }
}

const gcd = (a, b) => {
  while (b !== 0n) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
};

/** A fraction n/d in lowest terms with d > 0. */
export class Fraction {
  constructor(n, d = 1n) {
    if (d === 0n) throw new CardError("A fraction has the denominator 0.");
    if (d < 0n) [n, d] = [-n, -d];
    const common = gcd(n, d) || 1n;
    this.n = n / common;
    this.d = d / common;
  }

  /** From the text of a whole number or of a fraction; nothing else is a number in a card. */
  static of(text) {
    if (typeof text !== "string" || !/^-?\d{1,5000}(\/\d{1,5000})?$/.test(text)) {
      throw new CardError(`${JSON.stringify(String(text).slice(0, 50))} is no exact number.`);
    }
    const [n, d] = text.split("/");
    return new Fraction(BigInt(n), BigInt(d ?? "1"));
  }

  plus(other) { return new Fraction(this.n * other.d + other.n * this.d, this.d * other.d); }
  minus(other) { return new Fraction(this.n * other.d - other.n * this.d, this.d * other.d); }
  times(other) { return new Fraction(this.n * other.n, this.d * other.d); }
  over(other) { return new Fraction(this.n * other.d, this.d * other.n); }
  atMost(other) { return this.n * other.d <= other.n * this.d; }
  get positive() { return this.n > 0n; }
  get negative() { return this.n < 0n; }
  toNumber() {
    const shift = BigInt(Math.max(0, this.d.toString(2).length - 900));
    return Number(this.n >> shift) / Number(this.d >> shift);
  }
}

export const ZERO = new Fraction(0n);
export const ONE = new Fraction(1n);
export const least = (a, b) => (a.atMost(b) ? a : b);

/** The largest whole number that is not above n/d (d > 0). */
export const floorDiv = (n, d) => {
  const q = n / d;
  return n % d < 0n ? q - 1n : q;
};

const EXP_BITS = 320n;

/** A number e with e / 2^320 <= exp(x), for a fraction x >= 0: a partial sum of the series, squared back. */
export function expLower(x) {
  if (x.negative) throw new CardError("A negative exponent.");
  if (!x.atMost(new Fraction(4096n))) throw new CardError("An exponent above 4,096.");
  let halvings = 0n;
  while (!(x.n <= x.d << halvings)) halvings += 1n;
  const one = 1n << EXP_BITS;
  const small = (x.n << EXP_BITS) / (x.d << halvings);
  let term = one;
  let sum = one;
  for (let k = 1n; term > 0n; k += 1n) {
    term = (term * small) / (k << EXP_BITS);
    sum += term;
  }
  for (let i = 0n; i < halvings; i += 1n) sum = (sum * sum) >> EXP_BITS;
  return sum;
}

/** Whether n/d <= exp(x) is certain, for whole n, d > 0. */
export const certainlyAtMostExp = (n, d, x) => n << EXP_BITS <= d * expLower(x);

/** 2 atanh(p/q) in units of 2^-bits, floored term by term; each of the at most bits terms errs by less than 2. */
function twiceAtanh(p, q, bits) {
  let power = (p << (bits + 1n)) / q;
  let sum = 0n;
  for (let k = 1n; power > 0n; k += 2n) {
    sum += power / k;
    power = (power * p * p) / (q * q);
  }
  return sum;
}

/** Two whole numbers around -ln(b / 2^L) in units of 2^-bits, for 0 < b <= 2^L. */
export function minusLog(b, L, bits) {
  if (b === 1n << L) return [0n, 0n];
  const length = BigInt(b.toString(2).length);
  // b = m 2^(length - 1) with 1 <= m < 2; ln m = 2 atanh((m - 1)/(m + 1)).
  const unit = 1n << (length - 1n);
  const halves = L - (length - 1n);
  const log = halves * twiceAtanh(1n, 3n, bits) - twiceAtanh(b - unit, b + unit, bits);
  const slack = (halves + 1n) * (2n * bits + 8n);
  return [log - slack < 0n ? 0n : log - slack, log + slack];
}
