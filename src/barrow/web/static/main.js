// The loop: every change asks for the newest picture; at most one quick and one slow request are on their way.
import { begin, change, depth, listen, redo, remembered, state, undo } from "./state.js";
import { connect, post, tab } from "./talk.js";
import { el, problem } from "./fields.js";
import { drawLeft, given } from "./left.js";
import { freshness, show } from "./right.js";
import { offerRelease, saw, watch } from "./take.js";

const byId = id => document.getElementById(id), narrow = matchMedia("(max-width: 500px)");
const quiet = 250;
let seq = 0, flying = false, waiting = false, slow = null, later = false;

const asked = exact => ({ tab, seq, exact, keep: seq > 1, narrow: narrow.matches, study: state.study, looked: state.looked });

function changed(why) {
  seq += 1;
  document.body.dataset.saved = "no";
  freshness("no", "");
  clearTimeout(slow);
  const [back, forth] = depth();
  byId("undo").disabled = !back; byId("redo").disabled = !forth;
  if (why.redraw) redrawLeft();
  ask();
}
async function ask() {
  if (flying) { waiting = true; return; }
  flying = true; waiting = false;
  const mine = seq, words = setTimeout(() => { if (seq === mine) freshness("no", "Working it out …"); }, 300);
  const found = await post("design", asked(false));
  clearTimeout(words);
  flying = false;
  take(found, mine);
  if (waiting || seq !== mine) ask();
}
async function askExact(mine) {
  if (seq !== mine) return;
  const found = await post("design", asked(true));
  if (seq === mine) take(found, mine);
}
function take(found, mine) {
  const newest = seq === mine;
  if (found.status === 409) return;
  if (found.status !== 200) { if (newest) setTimeout(() => { if (seq === mine) fault(found, mine); }, flying ? 0 : 350); return; }
  if (newest) problem("", null);
  learn(found);
  show(found);
  if (!newest) return; // a picture on the way: still marked as old
  document.body.dataset.ms = found.ms;
  document.body.dataset.jobs = JSON.stringify(found.jobs);
  if (found.exact) { freshness("yes"); offerRelease(found); document.body.dataset.settled = mine; return; }
  freshness("preview", "≈ A preview; the exact numbers are being worked out …");
  offerRelease(found);
  slow = setTimeout(() => askExact(mine), quiet);
}
function fault(found, mine) {
  if (found.status === 403 || found.status === 0) { notice(found); }
  else problem(found.where, found);
  freshness("no", "What is below is the last study that could be planned, not this one.");
  document.body.dataset.settled = mine;
}
// The ranges of sliders follow the space.
function learn(found) {
  const before = JSON.stringify([given.distances, given.grids, given.entry]);
  given.distances = found.distances; given.grids = found.grids; given.entry = found.entry;
  if (JSON.stringify([given.distances, given.grids, given.entry]) === before) return;
  if (document.activeElement?.type === "range") later = true; // not under a hand that drags
  else redrawLeft();
}
function redrawLeft() {
  const held = document.activeElement, place = byId("form").contains(held) ? held.dataset.key : null;
  const alike = () => [...byId("form").querySelectorAll("[data-key]")].filter(c => c.dataset.key === place);
  const nth = place ? alike().indexOf(held) : 0, span = place && held.selectionStart !== undefined && held.type === "text" ? [held.selectionStart, held.selectionEnd] : null;
  later = false;
  const open = [...byId("form").querySelectorAll("details[open]")].map(d => d.querySelector("summary").textContent);
  drawLeft(suggest);
  byId("form").querySelectorAll("details").forEach(d => { if (open.includes(d.querySelector("summary").textContent)) d.open = true; });
  const again = place ? alike()[nth] : null;
  again?.focus();
  if (again && span) again.setSelectionRange(...span);
}
function notice(found) {
  const box = byId("notice");
  box.hidden = false;
  box.replaceChildren(el("strong", {}, found.problem || ""), " ", found.fix ? `Try: ${found.fix}.` : "");
}
async function suggest(over, holder) {
  holder.querySelectorAll(".suggestion").forEach(s => s.remove());
  const box = el("div", { className: "suggestion", role: "status" }, "Working it out …");
  holder.append(box);
  const found = await post("suggest", { study: state.study, looked: state.looked, over, narrow: true });
  if (found.status !== 200) { box.replaceChildren(el("p", { className: "problem" }, el("strong", {}, found.problem || "It failed."))); return; }
  const picture = new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement;
  const use = el("button", { type: "button", className: "small", onclick: () => {
    change(study => { if (over === "bandwidth") study.question[state.looked].bandwidth = found.best.text; else { const name = "cell" in study.space || study.space.kind === "earth" ? "cell" : "step"; study.space[name] = found.best.at; } }, { redraw: true });
  } }, `Take ${found.best.text}`);
  box.replaceChildren(document.importNode(picture, true), el("p", {}, found.words), use);
}

async function start() {
  const trouble = await connect();
  if (trouble) return notice(trouble);
  const found = await post("start");
  if (found.status !== 200) return notice(found);
  if (sessionStorage.getItem("seen") === null || !remembered()) saw(found.seen);
  Object.assign(given, { catalogue: found.catalogue, guesses: found.guesses, world: found.world });
  const about = `${found.folder}/${found.file}`, kept = sessionStorage.getItem("about") === about ? remembered() : null;
  sessionStorage.setItem("about", about);
  const first = kept?.study?.space ? kept : { study: found.study, looked: 0 };
  begin(first.study, first.looked);
  byId("file").textContent = found.opened ? found.file : `${found.file} (new)`;
  byId("save").textContent = `Save ${found.file}`;
  if (found.trouble) notice(found.trouble);
  if (found.draft && !kept) {
    const box = byId("notice");
    box.hidden = false;
    const bring = el("button", { type: "button", onclick: () => { box.hidden = true; change((study, s) => { s.study = found.draft.study; s.looked = found.draft.looked || 0; }, { redraw: true }); } }, "Bring it back");
    box.replaceChildren("A designer of this file ended before it was saved. ", bring, " ", el("button", { type: "button", onclick: () => { box.hidden = true; } }, "Leave it"));
  }
  given.entry = entryGuess(first.study.space);
  redrawLeft();
  listen(changed);
  seq = 1;
  ask();
  const running = await post("progress");
  if (running.status === 200 && running.state !== "none") watch(running);
}
function entryGuess(space) {
  return given.catalogue.spaces.find(e => Object.keys(e.fixed).length && Object.entries(e.fixed).every(([k, v]) => JSON.stringify(space[k]) === JSON.stringify(v)))?.id || ("call" in space ? "other" : "");
}
byId("form").addEventListener("change", () => { if (later) redrawLeft(); });
byId("undo").addEventListener("click", undo);
byId("redo").addEventListener("click", redo);
byId("another").addEventListener("click", async () => { const found = await post("link"); if (found.status === 200) window.open(`/#code=${found.code}`, "_blank", "noopener"); else notice(found); });
addEventListener("keydown", e => {
  if (!(e.ctrlKey || e.metaKey) || e.key.toLowerCase() !== "z" || /^(text|textarea)$/.test(e.target.type || "")) return;
  e.preventDefault();
  (e.shiftKey ? redo : undo)();
});
narrow.addEventListener("change", () => { if (seq) changed({}); });
start();
