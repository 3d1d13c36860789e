// HPKE (RFC 9180), base mode, by WebCrypto: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM; one value a message.

import { joined, utf8 } from "./bytes.js";

const EMPTY = new Uint8Array(0);
const KEM = joined(utf8("KEM"), Uint8Array.of(0, 32));
const SUITE = joined(utf8("HPKE"), Uint8Array.of(0, 32, 0, 1, 0, 1));

async function hmac(key, data) {
  // An empty key and 32 zeros are the same key, but only the second can be imported.
  const made = key.length > 0 ? key : new Uint8Array(32);
  const imported = await crypto.subtle.importKey("raw", made, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, data));
}

const extract = (suite, salt, label, input) => hmac(salt, joined(utf8("HPKE-v1"), suite, utf8(label), input));

/** At most 32 bytes: one block of HKDF's expansion. */
async function expand(suite, key, label, info, size) {
  const labelled = joined(Uint8Array.of(0, size), utf8("HPKE-v1"), suite, utf8(label), info);
  return (await hmac(key, joined(labelled, Uint8Array.of(1)))).slice(0, size);
}

/** The key and the nonce that both sides of an encapsulation derive. */
export async function schedule(shared, enc, key, info) {
  const start = await extract(KEM, EMPTY, "eae_prk", shared);
  const secret = await expand(KEM, start, "shared_secret", joined(enc, key), 32);
  const context = joined(
    Uint8Array.of(0),
    await extract(SUITE, EMPTY, "psk_id_hash", EMPTY),
    await extract(SUITE, EMPTY, "info_hash", info),
  );
  const base = await extract(SUITE, secret, "secret", EMPTY);
  return [await expand(SUITE, base, "key", context, 16), await expand(SUITE, base, "base_nonce", context, 12)];
}

/** 64 bytes that only the analyser can open: `enc` and the ciphertext. */
export async function seal(digest, publicKey, value) {
  if (value < 0n || value >= 1n << 32n) throw new RangeError("A value of a message is below 2^32.");
  const plain = new Uint8Array(16);
  plain[0] = 1;
  new DataView(plain.buffer).setUint32(12, Number(value));
  return sealBytes(utf8(`barrow message 2 ${digest}`), publicKey, plain);
}

/** Bytes that only the owner of a key can open, 48 more than they are. */
export async function sealBytes(info, publicKey, plain) {
  const own = await crypto.subtle.generateKey({ name: "X25519" }, true, ["deriveBits"]);
  const enc = new Uint8Array(await crypto.subtle.exportKey("raw", own.publicKey));
  const theirs = await crypto.subtle.importKey("raw", publicKey, { name: "X25519" }, true, []);
  const shared = new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: theirs }, own.privateKey, 256));
  if (shared.every((byte) => byte === 0)) throw new TypeError("The key to seal for is no good key.");
  const [key, iv] = await schedule(shared, enc, publicKey, info);
  const aes = await crypto.subtle.importKey("raw", key, "AES-GCM", false, ["encrypt"]);
  return joined(enc, new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, aes, plain)));
}
