// The study as plain data, as study.toml has it; every change can be undone.
export const state = { study: {}, looked: 0, period: "last" };
const past = [], future = [], heard = [];
let merging = null;

const copy = value => JSON.parse(JSON.stringify(value));
const tell = why => { sessionStorage.setItem("state", JSON.stringify(state)); heard.forEach(f => f(why)); };

export const listen = f => heard.push(f);
export function begin(study, looked = 0) { state.study = copy(study); state.looked = looked; past.length = future.length = 0; }
export function remembered() { try { return JSON.parse(sessionStorage.getItem("state")); } catch { return null; } }

// `key` names the control: its moves in a row are one step back. `redraw` says that controls come and go.
export function change(f, { key = null, redraw = false } = {}) {
  if (key === null || key !== merging) { past.push(copy(state)); if (past.length > 200) past.shift(); }
  merging = key; future.length = 0;
  f(state.study, state);
  tell({ redraw });
}
export const settle = () => { merging = null; };
function step(from, to) {
  if (!from.length) return;
  to.push(copy(state));
  Object.assign(state, from.pop());
  merging = null;
  tell({ redraw: true });
}
export const undo = () => step(past, future);
export const redo = () => step(future, past);
export const depth = () => [past.length, future.length];
