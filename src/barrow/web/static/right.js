// The right side: numbers, pictures, sentences. Nothing old is ever shown as new.
import { el } from "./fields.js";
import { tellPromises } from "./left.js";
import { change } from "./state.js";
/* global barrowRead */
const byId = id => document.getElementById(id);
const order = ["alpha", "error", "worst", "seen"];
const parser = new DOMParser();
let telling;

export function freshness(how, words = "") {
  document.body.dataset.fresh = how;
  byId("busy").textContent = words;
  byId("right").setAttribute("aria-busy", String(how === "no"));
}
function put(id, text) {
  const holder = byId(id);
  if (!text) { holder.replaceChildren(); return; }
  const found = parser.parseFromString(text, "image/svg+xml").documentElement;
  holder.replaceChildren(document.importNode(found, true));
  barrowRead(holder);
}
export function show(a) {
  byId("cards").replaceChildren(...order.filter(name => a.cards[name]).map(name => el("div", { className: "card", id: `card-${name}` }, el("dt", {}, a.cards[name].label), el("dd", {}, a.cards[name].value))));
  tellPromises(a.promises, !a.exact);
  byId("grid-words").textContent = a.grid;
  const figures = a.figures || {};
  if (a.figures) for (const id of ["picture", "belief", "accuracy"]) put(id, figures[id]);
  byId("s-accuracy").hidden = !figures.accuracy && !a.sentence;
  byId("picture-words").textContent = (a.exact ? "" : "≈ A coarser grid, until the exact one is worked out. ") + (a.picture_words || "");
  byId("sentence").textContent = a.sentence || "";
  byId("warnings").replaceChildren(...(a.warnings || []).map(text => el("li", {}, text)));
  const alarm = byId("alarm");
  alarm.hidden = !a.alarm;
  if (a.alarm) alarm.replaceChildren(el("strong", {}, "Worst case. "), a.alarm.text, " ", el("button", { type: "button", id: "cap", className: "small", onclick: () => change(study => { delete study.alpha; (study.promise ??= []).push({ ...a.alarm.promise }); }, { redraw: true }) }, "Add that promise"));
  byId("toml").textContent = a.toml;
  byId("commands").textContent = a.commands.join("\n");
  if (a.exact) { byId("plan").textContent = a.plan.join("\n"); byId("statement").textContent = a.statement; }
  clearTimeout(telling);
  telling = setTimeout(() => { byId("told").textContent = order.filter(name => a.cards[name]).map(name => `${a.cards[name].label}: ${a.cards[name].value}`).join("; "); }, 700);
}
