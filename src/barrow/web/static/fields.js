// Controls made from the catalogue: each has a label, a sentence about it, and says in plain data what it holds.
export function el(tag, options = {}, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) e.addEventListener(key.slice(2), value);
    else if (key in e && !["list", "form"].includes(key)) e[key] = value;
    else e.setAttribute(key, value);
  }
  e.append(...children.filter(c => c !== null && c !== undefined));
  return e;
}

let count = 0;
export const number = text => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);
const numbers = text => text.split(/[\s,;]+/).filter(Boolean).map(number);
const read = {
  text: t => t, distance: t => t, choice: t => t, number, grid: number,
  whole: t => (t.trim() === "" ? undefined : number(t)),
  numbers,
  record: t => { const found = numbers(t); return found.length > 1 && found.every(x => typeof x === "number") ? found : found.length === 1 && typeof found[0] === "number" ? found[0] : t.trim(); },
  lines: t => t.split("\n").map(x => x.trim()).filter(Boolean),
  rows: t => t.split("\n").map(numbers).filter(r => r.length),
};
const write = {
  numbers: v => (Array.isArray(v) ? v.join(", ") : String(v)), record: v => (Array.isArray(v) ? v.join(", ") : String(v)),
  lines: v => v.join("\n"), rows: v => v.map(r => r.join(" ")).join("\n"),
};
const shown = (kind, value) => (value === undefined || value === null ? "" : (write[kind] || String)(value));

// One labelled control; `set` is called with plain data.
export function field(spec, value, set, { label, key } = {}) {
  const id = `f${++count}`, about = `${id}-about`, kind = spec.kind, text = label || spec.label;
  const common = { id, "aria-describedby": about, "data-key": text };
  let control;
  const take = () => set(read[kind] ? read[kind](control.value) : control.value, key);
  if (kind === "choice") {
    control = el("select", { ...common, onchange: take }, ...spec.choices.map(c => el("option", { value: c.value ?? c, selected: (c.value ?? c) === value }, c.name ?? c)));
  } else if (kind === "lines" || kind === "rows") {
    control = el("textarea", { ...common, rows: 4, value: shown(kind, value), spellcheck: false, oninput: take });
  } else {
    control = el("input", { ...common, type: "text", inputMode: ["number", "grid", "whole"].includes(kind) ? "decimal" : "text", value: shown(kind, value), spellcheck: false, oninput: take });
  }
  const unit = spec.unit && kind !== "grid" ? el("span", { className: "unit" }, spec.unit) : null;
  const box = el("div", { className: "field" }, el("label", { htmlFor: id }, text), control, unit, el("p", { className: "about", id: about }, spec.about || ""));
  if (kind === "lines") box.append(fileInto(control, take, text));
  box.control = control;
  return box;
}

// A public list from a file: it is read in this page, never by the server.
function fileInto(control, take, text) {
  const id = `f${++count}`;
  const pick = el("input", { type: "file", id, accept: ".txt,.csv,text/plain", onchange: async () => { const file = pick.files[0]; if (file) { control.value = await file.text(); take(); } } });
  return el("p", { className: "pick" }, el("label", { htmlFor: id }, `${text} from a file`), pick);
}

// A slider over a list of steps; `texts` are read out. Nothing is said between them.
export function slider(label, texts, at, set, about) {
  const id = `f${++count}`;
  const out = el("output", { htmlFor: id }, texts[at] ?? "");
  const range = el("input", { type: "range", id, "data-key": label, min: 0, max: Math.max(texts.length - 1, 0), step: 1, value: at, "aria-valuetext": texts[at] ?? "", "aria-describedby": about ? `${id}-about` : null });
  const show = k => { out.textContent = texts[k]; range.setAttribute("aria-valuetext", texts[k]); };
  range.addEventListener("input", () => { const k = Number(range.value); show(k); set(k); });
  const box = el("div", { className: "field" }, el("label", { htmlFor: id }, label, " ", out), range, about ? el("p", { className: "about", id: `${id}-about` }, about) : null);
  box.range = range; box.out = out;
  return box;
}

export const nearest = (values, wanted) => {
  let best = 0;
  values.forEach((v, k) => { if (Math.abs(Math.log(v / wanted)) < Math.abs(Math.log(values[best] / wanted))) best = k; });
  return best;
};

// An error stands beside its control, and the control says so.
export function problem(where, found) {
  const boxes = document.querySelectorAll("[data-where]");
  boxes.forEach(box => {
    box.querySelectorAll(":scope > .problem").forEach(p => p.remove());
    box.querySelectorAll("[aria-invalid]").forEach(c => c.removeAttribute("aria-invalid"));
  });
  if (!found) return;
  const box = document.querySelector(`[data-where="${CSS.escape(where)}"]`) || document.querySelector('[data-where="page"]');
  const lines = [el("strong", {}, found.problem)];
  if (found.allowed) lines.push(el("span", {}, "Allowed: " + found.allowed));
  if (found.fix) lines.push(el("span", {}, "Try: " + found.fix));
  box.prepend(el("p", { className: "problem", role: "alert" }, ...lines));
  box.querySelectorAll("input:not([type=range]), select, textarea").forEach(c => c.setAttribute("aria-invalid", "true"));
  const folded = box.closest("details");
  if (folded) folded.open = true;
}
