export { Card, readCard } from "./card.js";
export { Client, LimitError, SendError } from "./client.js";
export { CardError } from "./exact.js";
export { BrowserMemory, FileMemory } from "./memory.js";
