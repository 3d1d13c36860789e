// Bytes, texts and base64 with the URL alphabet.

const encoder = new TextEncoder();

export const utf8 = (text) => encoder.encode(text);
export const joined = (...parts) => {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};
export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
export const toBigInt = (bytes) => BigInt(`0x${hex(bytes) || "0"}`);
export const fromBigInt = (value, size) => {
  const text = value.toString(16).padStart(2 * size, "0");
  return Uint8Array.from({ length: size }, (_, i) => parseInt(text.slice(2 * i, 2 * i + 2), 16));
};
export const b64 = (bytes) => {
  let text = "";
  // In pieces: a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

/** The bytes of a text in base64; any other spelling of the same bytes is refused. */
export function unb64(text, size) {
  let bytes = null;
  try {
    bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  } catch {
    bytes = null;
  }
  if (bytes === null || b64(bytes) !== text || (size !== undefined && bytes.length !== size)) {
    throw new TypeError("Bytes are not spelt in base64 as they must be.");
  }
  return bytes;
}
