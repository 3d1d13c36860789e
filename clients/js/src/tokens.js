// Tokens, each good for one message: RSA blind signatures, RFC 9474, RSABSSA-SHA384-PSS-Randomized.

import { fromBigInt, hex, joined, toBigInt, unb64, utf8 } from "./bytes.js";
import { CardError } from "./exact.js";
import { below, bitLength, randomBytes } from "./words.js";

const HASH = 48;
const sha384 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-384", joined(...parts)));

const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", joined(...parts)));

/** What is signed for a message: the card, and the hash of the list of hashes of each recipient's sealed part. */
export async function saidOf(digest, ...parts) {
  const listed = await sha256(...(await Promise.all(parts.map((part) => sha256(part)))));
  return utf8(`barrow admission 2 ${digest} ${hex(listed)}`);
}

/** The issuer's key, from the DER of its SubjectPublicKeyInfo. */
export async function readIssuer(der) {
  const algorithm = { name: "RSA-PSS", hash: "SHA-384" };
  const key = await crypto.subtle.importKey("spki", der, algorithm, true, ["verify"]);
  const { n, e } = await crypto.subtle.exportKey("jwk", key);
  const modulus = toBigInt(unb64(n));
  if (bitLength(modulus) !== 2048n || toBigInt(unb64(e)) !== 65537n) throw new CardError("The issuer's key is not of 2048 bits.");
  return { key, n: modulus, e: 65537n, size: Number((bitLength(modulus) + 7n) / 8n) };
}

export function power(base, exponent, modulus) {
  let result = 1n;
  for (let b = base % modulus, e = exponent; e > 0n; e >>= 1n, b = (b * b) % modulus) {
    if (e & 1n) result = (result * b) % modulus;
  }
  return result;
}

/** The inverse of a modulo n, or null where they share a factor. */
function inverseOf(a, n) {
  let [r, next, s, t] = [n, a % n, 0n, 1n];
  while (next !== 0n) {
    const q = r / next;
    [r, next] = [next, r - q * next];
    [s, t] = [t, s - q * t];
  }
  return r === 1n ? ((s % n) + n) % n : null;
}

/** EMSA-PSS (RFC 8017, 9.1.1) with SHA-384 and MGF1 with SHA-384. */
async function encode(message, bits, salt) {
  const size = Math.ceil(bits / 8);
  const hashed = await sha384(new Uint8Array(8), await sha384(message), salt);
  const block = joined(new Uint8Array(size - salt.length - HASH - 2), Uint8Array.of(1), salt);
  const mask = [];
  for (let i = 0; mask.length < block.length; i += 1) mask.push(...(await sha384(hashed, Uint8Array.of(0, 0, 0, i))));
  const masked = block.map((byte, i) => byte ^ mask[i]);
  masked[0] &= 0xff >> (8 * size - bits);
  return joined(masked, hashed, Uint8Array.of(0xbc));
}

/** Blind prefix || message; prefix, salt and factor are given by test vectors only. */
export async function blind(issuer, message, { prefix = randomBytes(32), salt = randomBytes(HASH), factor } = {}) {
  const encoded = toBigInt(await encode(joined(prefix, message), Number(bitLength(issuer.n)) - 1, salt));
  if (inverseOf(encoded, issuer.n) === null) throw new CardError("The issuer's modulus shares a factor with a token.");
  let r = factor ?? below(issuer.n);
  while (r === 0n || inverseOf(r, issuer.n) === null) r = below(issuer.n);
  const request = (encoded * power(r, issuer.e, issuer.n)) % issuer.n;
  return { prefix, request: fromBigInt(request, issuer.size), inverse: inverseOf(r, issuer.n) };
}

/** The signature without its blinding; a wrong one is refused. */
export async function finalize(issuer, message, made, answer) {
  const signature = fromBigInt((toBigInt(answer) * made.inverse) % issuer.n, issuer.size);
  const check = { name: "RSA-PSS", saltLength: HASH };
  const right = await crypto.subtle.verify(check, issuer.key, signature, joined(made.prefix, message));
  if (answer.length !== issuer.size || !right) throw new CardError("The issuer's answer is no signature of this token.", "ask again");
  return signature;
}
