// TurboSHAKE128 (RFC 9861): the last twelve rounds of Keccak, in halves of 32 bits.

const RATE = 168;
const DOMAIN = 0x01;
// Round constants of the last twelve rounds, low half first.
const CONSTANTS = [
  0x8000808b, 0, 0x8b, 0x80000000, 0x8089, 0x80000000, 0x8003, 0x80000000, 0x8002, 0x80000000, 0x80, 0x80000000,
  0x800a, 0, 0x8000000a, 0x80000000, 0x80008081, 0x80000000, 0x8080, 0x80000000, 0x80000001, 0, 0x80008008, 0x80000000,
];

// Where each lane goes (pi) and by how many bits it is turned (rho), in the order of the walk from lane 1.
const [PLACES, TURNS] = (() => {
  const places = [];
  const turns = [];
  let [x, y] = [1, 0];
  for (let t = 0; t < 24; t += 1) {
    [x, y] = [y, (2 * x + 3 * y) % 5];
    places.push(x + 5 * y);
    turns.push((((t + 1) * (t + 2)) / 2) % 64);
  }
  return [places, turns];
})();

const column = new Int32Array(10);
const row = new Int32Array(10);

/** Twelve rounds, in place, on 25 lanes of two halves each. */
function permute(state) {
  for (let round = 0; round < 12; round += 1) {
    for (let x = 0; x < 10; x += 1) {
      column[x] = state[x] ^ state[x + 10] ^ state[x + 20] ^ state[x + 30] ^ state[x + 40];
    }
    for (let x = 0; x < 5; x += 1) {
      const before = 2 * ((x + 4) % 5);
      const after = 2 * ((x + 1) % 5);
      const low = column[before] ^ ((column[after] << 1) | (column[after + 1] >>> 31));
      const high = column[before + 1] ^ ((column[after + 1] << 1) | (column[after] >>> 31));
      for (let y = 0; y < 50; y += 10) {
        state[2 * x + y] ^= low;
        state[2 * x + y + 1] ^= high;
      }
    }
    let [low, high] = [state[2], state[3]];
    for (let t = 0; t < 24; t += 1) {
      const place = 2 * PLACES[t];
      const turn = TURNS[t] & 31;
      if (TURNS[t] > 31) [low, high] = [high, low];
      const turnedLow = turn === 0 ? low : (low << turn) | (high >>> (32 - turn));
      const turnedHigh = turn === 0 ? high : (high << turn) | (low >>> (32 - turn));
      [low, high] = [state[place], state[place + 1]];
      state[place] = turnedLow;
      state[place + 1] = turnedHigh;
    }
    for (let y = 0; y < 50; y += 10) {
      for (let x = 0; x < 10; x += 1) row[x] = state[y + x];
      for (let x = 0; x < 10; x += 1) state[y + x] = row[x] ^ (~row[(x + 2) % 10] & row[(x + 4) % 10]);
    }
    state[0] ^= CONSTANTS[2 * round];
    state[1] ^= CONSTANTS[2 * round + 1];
  }
}

/** The stream of bytes that follows from some bytes: `read(n)` gives the next n. */
export class TurboShake128 {
  constructor(data) {
    this.state = new Int32Array(50);
    this.bytes = new Uint8Array(this.state.buffer); // lanes are little-endian, as every machine that runs this
    let at = 0;
    for (; data.length - at >= RATE; at += RATE) {
      for (let i = 0; i < RATE; i += 1) this.bytes[i] ^= data[at + i];
      permute(this.state);
    }
    for (let i = 0; at + i < data.length; i += 1) this.bytes[i] ^= data[at + i];
    this.bytes[data.length - at] ^= DOMAIN;
    this.bytes[RATE - 1] ^= 0x80;
    this.used = RATE;
  }

  read(size) {
    const result = new Uint8Array(size);
    for (let done = 0; done < size;) {
      if (this.used === RATE) {
        permute(this.state);
        this.used = 0;
      }
      const some = Math.min(size - done, RATE - this.used);
      result.set(this.bytes.subarray(this.used, this.used + some), done);
      this.used += some;
      done += some;
    }
    return result;
  }
}
