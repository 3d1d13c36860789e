// What a person's client remembers: the limit, what was spent, and what was drawn for each survey.
// A memory has one method: `update(change)` reads the state, lets `change` alter it at once, and resolves with its
// result when the new state is durable. Nothing is sent before that.

import { priceOf } from "./card.js";

const NAME = /^sha256:[0-9a-f]{64}$/;
const FORGOTTEN = "What was remembered cannot be read, so it is not known what was spent; nothing is drawn.";

/** The state, with the surveys in a map that has no names but those of surveys; refused if anything is wrong in it. */
const checked = (state) => {
  const { barrow, version, limit, surveys, trusted = [] } = state ?? { barrow: "card wallet", version: 3, limit: null, surveys: {} };
  try {
    if (barrow !== "card wallet" || ![2, 3].includes(version) || typeof surveys !== "object") throw new TypeError("another file");
    if (!Array.isArray(trusted) || trusted.some((name) => typeof name !== "string")) throw new TypeError("another list");
    if (limit !== null) priceOf(limit);
    const named = new Map(Object.entries(surveys));
    for (const [name, entry] of named) {
      priceOf(entry.epsilon);
      if (!NAME.test(name) || !NAME.test(entry.card)) throw new TypeError("another name");
    }
    return { barrow, version: 3, limit, surveys: named, trusted };
  } catch {
    throw new Error(FORGOTTEN);
  }
};

const written = (state) => ({ ...state, surveys: Object.fromEntries(state.surveys) });

/** IndexedDB in browsers: a transaction with strict durability; two tabs share it. */
export class BrowserMemory {
  constructor(name = "barrow") {
    this.name = name;
  }

  async #database() {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(this.name, 1);
      request.onupgradeneeded = () => request.result.createObjectStore("state");
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  async update(change) {
    const database = await this.#database();
    try {
      return await new Promise((resolve, reject) => {
        const work = database.transaction("state", "readwrite", { durability: "strict" });
        const store = work.objectStore("state");
        let result;
        let problem;
        const request = store.get("wallet");
        request.onsuccess = () => {
          try {
            const state = checked(request.result);
            result = change(state);
            store.put(written(state), "wallet");
          } catch (error) {
            problem = error;
            work.abort();
          }
        };
        work.oncomplete = () => resolve(result);
        work.onerror = work.onabort = () => reject(problem ?? work.error);
      });
    } finally {
      database.close();
    }
  }
}

/** A file in Node: written whole, forced to disk, renamed; a lock file keeps two processes apart. */
export class FileMemory {
  constructor(path) {
    this.path = path;
  }

  async #locked(work) {
    const { open, unlink } = await import("node:fs/promises");
    const lock = `${this.path}.lock`;
    for (let tries = 0; ; tries += 1) {
      try {
        await (await open(lock, "wx")).close();
        break;
      } catch (error) {
        if (error.code !== "EEXIST" || tries > 600) throw new Error(`${lock} is held by another process; remove it if there is none.`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    try {
      return await work();
    } finally {
      await unlink(lock);
    }
  }

  async update(change) {
    return this.#locked(async () => {
      const { open, readFile, rename } = await import("node:fs/promises");
      const { dirname } = await import("node:path");
      let state = null;
      try {
        state = JSON.parse(await readFile(this.path, "utf8"));
      } catch (error) {
        if (error.code !== "ENOENT") throw new Error(FORGOTTEN);
      }
      state = checked(state);
      const result = change(state);
      const file = await open(`${this.path}.new`, "w", 0o600);
      try {
        await file.writeFile(JSON.stringify(written(state)));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${this.path}.new`, this.path);
      const folder = await open(dirname(this.path) || ".", "r");
      try {
        await folder.sync();
      } finally {
        await folder.close();
      }
      return result;
    });
  }
}
