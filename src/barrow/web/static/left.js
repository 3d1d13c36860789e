// The left side: promises as sentences, the space, the records, the questions. Everything is the study's plain data.
import { change, settle, state } from "./state.js";
import { el, field, nearest, number, slider } from "./fields.js";
import { boxPicker } from "./world.js";
import { post } from "./talk.js";

export const given = { catalogue: null, guesses: [], world: "", distances: [], grids: [], columns: null, zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC" };
const byId = id => document.getElementById(id);
const redraw = { redraw: true };

export function drawLeft(suggest) {
  drawPeople(); drawParts(); drawSpace(suggest); drawPromises(); drawQuestions(suggest);
}

// 3: promises
function inline(value, label, key, set) {
  const input = el("input", { type: "text", value, spellcheck: false, "aria-label": label, "data-key": label, size: Math.max(String(value).length, 4), oninput: () => { input.size = Math.max(input.value.length, 4); change(() => set(input.value), { key }); }, onblur: settle });
  return input;
}
function scopeOf(p, i, n) {
  const unit = state.study.data?.period;
  if (!unit) return "";
  const choices = ["", `any ${unit}`, `any 3 ${unit}s`, `every ${unit}`];
  if (p.scope && !choices.includes(p.scope)) choices.push(p.scope);
  return el("select", { "aria-label": `Promise ${n}: in which ${unit}s`, "data-key": `scope-${i}`, onchange: e => change(study => { if (e.target.value) study.promise[i].scope = e.target.value; else delete study.promise[i].scope; }) }, ...choices.map(c => el("option", { value: c, selected: c === (p.scope || "") }, c ? `in ${c}` : "in all data together")));
}
function drawPromises() {
  const rows = state.study.promise || [];
  byId("promises").replaceChildren(...rows.map((p, i) => {
    const n = i + 1, at = nearest(given.guesses.map(g => Number(g.epsilon)), Number(p.epsilon) || 1);
    const out = el("output", {}, given.guesses[at].guess);
    const range = el("input", { type: "range", min: 0, max: given.guesses.length - 1, step: 1, value: at, "data-key": `guess-${i}`, "aria-label": `Promise ${n}: what a 50 % guess may become at most`, "aria-valuetext": out.textContent, "aria-describedby": `note-${i}`, onchange: settle,
      oninput: () => { const g = given.guesses[Number(range.value)]; out.textContent = g.guess; range.setAttribute("aria-valuetext", g.guess); change(study => { study.promise[i].epsilon = g.epsilon; }, { key: `epsilon-${i}` }); } });
    const drop = el("button", { type: "button", className: "drop", "aria-label": `Remove promise ${n}`, disabled: rows.length < 2, onclick: () => change(study => study.promise.splice(i, 1), redraw) }, "×");
    const row = el("li", { className: "sentence", "data-where": `promise-${i}` }, drop,
      el("p", {}, "If ", inline(p.share, `Promise ${n}: which share of a person's records`, `share-${i}`, v => { state.study.promise[i].share = v; }), " had been ", inline(p.distance, `Promise ${n}: how far elsewhere`, `distance-${i}`, v => { state.study.promise[i].distance = v; }), " elsewhere", scopeOf(p, i, n), ", a 50 % guess may become at most ", out), range, el("p", { className: "about", id: `note-${i}` }));
    row.out = out;
    return row;
  }));
  byId("delta").replaceChildren(field({ kind: "text", label: "δ", about: "How much a guess may gain beyond the promises; 0 for nothing. It must be far below 1 / number of people." }, state.study.delta ?? 0, v => change(study => { if (v === "" || v === "0") delete study.delta; else study.delta = v; }, { key: "delta" })));
}
export function tellPromises(rows, approximate) {
  [...byId("promises").children].forEach((li, i) => {
    const row = rows[i];
    if (!row) return;
    li.classList.toggle("decides", row.decides);
    li.out.textContent = row.asked;
    byId(`note-${i}`).textContent = row.note;
    const range = li.querySelector("input[type=range]");
    range.setAttribute("aria-valuetext", row.asked);
  });
  byId("kept").replaceChildren(...rows.map(row => el("li", {}, "asked: at most ", el("b", {}, row.asked), row.here ? el("span", {}, "; this question alone: at most ", el("b", {}, (approximate ? "≈ " : "") + row.here)) : null, row.decides ? el("span", { className: "chip" }, "decides α") : null)));
}

// 2: space and records
function setSpace(f, key) { change(study => f(study.space), { key }); }
export function entryOf(space) {
  return given.catalogue.spaces.find(e => e.id === given.entry && (e.id !== "other" || "call" in space)) || null;
}
function fresh(entry) {
  const space = { ...entry.fixed };
  entry.fields.forEach(f => { if (f.kind === "vectors") Object.assign(space, vectors(f.value.join("\n"))); else space[f.name] = f.value; });
  return space;
}
const vectors = text => {
  const rows = text.split("\n").map(line => line.trim().split(/\s+/)).filter(row => row.length > 1);
  return { labels: rows.map(row => row[0]), vectors: rows.map(row => row.slice(1).map(number)) };
};
// Another kind of records keeps what the promises mean: the same part of the largest distance, in round numbers of the new unit.
async function takeSpace(entry) {
  const space = fresh(entry), found = await post("rescale", { study: state.study, space });
  const told = found.status === 200 ? found.distances : state.study.promise.map(() => "anywhere");
  given.entry = entry.id; given.grids = given.distances = [];
  change((study, s) => {
    study.space = space;
    study.promise.forEach((p, i) => { p.distance = told[i]; });
    study.question = [entry.id === "earth" ? { kind: "density", name: "answer", bandwidth: "400 km" } : { kind: "histogram", name: "answer" }];
    s.looked = 0;
  }, redraw);
}
function drawSpace(suggest) {
  const space = state.study.space, entry = entryOf(space), box = byId("space");
  const choices = given.catalogue.spaces.map(e => ({ value: e.id, name: e.name }));
  if (!entry) choices.unshift({ value: "", name: `As the file has it (${space.kind})` });
  const parts = [field({ kind: "choice", label: "Records are", choices, about: entry ? entry.about : "This space is kept as the file has it." }, entry ? entry.id : "", id => {
    const found = given.catalogue.spaces.find(e => e.id === id);
    if (found) takeSpace(found);
  })];
  for (const f of entry ? entry.fields : []) {
    const set = v => setSpace(s => { if (v === undefined || v === "") delete s[f.name]; else s[f.name] = v; }, `space-${f.name}`);
    if (f.kind === "box") parts.push(boxPicker(given.world, space.box, set));
    else if (f.kind === "vectors") parts.push(field({ ...f, kind: "lines" }, (space.labels || []).map((label, k) => [label, ...space.vectors[k]].join(" ")), lines => setSpace(s => Object.assign(s, vectors(lines.join("\n"))), "vectors")));
    else if (f.kind === "grid") parts.push(gridField(f, space, set, suggest));
    else parts.push(field(f, space[f.name], set));
  }
  parts.push(el("p", { className: "fact", id: "grid-words" }));
  box.replaceChildren(...parts);
}
function gridField(f, space, set, suggest) {
  const unit = f.unit || space.unit || "", typed = field({ ...f, label: unit ? `${f.label}, in ${unit}` : f.label }, space[f.name], set);
  const holder = el("div", {}, typed);
  const values = given.grids;
  if (values.length > 1) {
    const texts = values.map(v => `${v} ${unit}`.trim());
    const s = slider("Finer or coarser", texts, nearest(values, Number(space[f.name]) || 1), k => { typed.control.value = values[k]; set(values[k]); }, "Finer cells take more time and leave more of α.");
    s.out.hidden = true;
    s.range.addEventListener("change", settle);
    holder.append(s, el("button", { type: "button", className: "small", onclick: e => suggest("grid", e.target.parentElement) }, "Suggest a grid"));
  }
  return holder;
}
// Columns that are named as places are offered as items; who is one person is never guessed.
function guessColumns(columns) {
  if (state.study.data?.items?.length) return;
  const pick = names => columns.find(c => names.includes(c.toLowerCase()));
  const lat = pick(["lat", "latitude"]), lon = pick(["lon", "lng", "long", "longitude"]);
  if (state.study.space.kind === "earth" && lat && lon) change(study => { study.data = { ...study.data, items: [lat, lon] }; }, redraw);
}
function drawPeople() {
  byId("users").replaceChildren(field({ kind: "whole", label: "People", about: "How many the data are about; public." }, state.study.users, v => change(study => { study.users = v; }, { key: "users" })));
  byId("dataset").replaceChildren(field({ kind: "text", label: "Data set", about: "A public name; its ledger is found by it." }, state.study.dataset ?? "", v => change(study => { if (v) study.dataset = v; else delete study.dataset; }, { key: "dataset" })));
  const data = state.study.data || {};
  const set = name => v => change(study => { study.data = { ...study.data }; if (v === "" || v === undefined || (Array.isArray(v) && !v.length)) delete study.data[name]; else study.data[name] = v; if (!Object.keys(study.data).length) delete study.data; }, { key: `data-${name}` });
  const known = given.columns, several = Array.isArray(data.items) ? data.items : data.items ? [data.items] : [];
  const source = field({ kind: "text", label: "File or address", about: "A path beside study.toml, a pattern, or the address of a database." }, data.source ?? "", set("source"));
  const user = known ? field({ kind: "choice", label: "Column of the person", choices: ["", ...known], about: "Who is one person is never guessed." }, data.user ?? "", set("user")) : field({ kind: "text", label: "Column of the person", about: "Who is one person is never guessed." }, data.user ?? "", set("user"));
  const items = known
    ? el("fieldset", {}, el("legend", {}, "Columns of the item"), ...known.map(c => el("label", { className: "tick" }, el("input", { type: "checkbox", checked: several.includes(c), onchange: e => set("items")(e.target.checked ? [...(state.study.data?.items || []), c] : (state.study.data?.items || []).filter(x => x !== c)) }), " ", c)))
    : field({ kind: "text", label: "Columns of the item", about: "One, or several with commas between, such as lat, lon." }, several.join(", "), v => set("items")(v.split(",").map(x => x.trim()).filter(Boolean)));
  const outside = field({ kind: "choice", label: "Records outside the space", choices: ["error", "default", "nearest", "elsewhere"], about: "error stops the release; elsewhere counts them as one more public item." }, data.outside ?? "error", v => set("outside")(v === "error" ? "" : v));
  const look = el("button", { type: "button", className: "small", onclick: async () => {
    const { problem } = await import("./fields.js");
    look.disabled = true;
    const found = await post("columns", { source: state.study.data?.source || "" });
    look.disabled = false;
    if (found.status === 200) { given.columns = Object.keys(found.columns); problem("data", null); guessColumns(given.columns); drawPeople(); drawParts(); byId("data").querySelector("select")?.focus(); } else problem("data", found);
  } }, "Columns from the header");
  byId("data").replaceChildren(source, look, user, items, outside);
}

// By month and by group: public columns of the records.
function drawParts() {
  const data = state.study.data || {}, known = given.columns;
  const put = name => v => change(study => { study.data = { ...study.data }; if (v) study.data[name] = v; else delete study.data[name]; }, { key: `data-${name}` });
  const column = (label, about, value, set) => known ? field({ kind: "choice", label, choices: ["", ...known], about }, value, set) : field({ kind: "text", label, about }, value, set);
  // Shown and hidden, never drawn again: letters typed into the list of columns belong to one name.
  const series = el("div", { hidden: !data.time }, el("div", { className: "pair" },
    field({ kind: "choice", label: "One release for each", choices: ["day", "week", "month", "quarter", "year"], about: "Promises may be about any one of them." }, data.period ?? "month", v => change(study => { study.data.period = v; study.promise.forEach(p => { if (p.scope) p.scope = p.scope.replace(/(day|week|month|quarter|year)(s?)$/, `${v}$2`); }); }, redraw)),
    field({ kind: "text", label: "Time zone", about: "One public zone, such as Europe/Berlin." }, data.zone ?? given.zone, put("zone"))),
    field({ kind: "whole", label: "How many in the series", about: "What is promised about all data together must last for so many releases." }, state.study.periods ?? 12, v => change(study => { if (v) study.periods = v; else delete study.periods; }, { key: "periods" })));
  const time = column("Column of the time", "When a record was made; empty if the study is about all records together.", data.time ?? "", v => {
    change(study => {
      study.data = { ...study.data };
      if (v) { Object.assign(study.data, { time: v, period: study.data.period || "month", zone: study.data.zone || given.zone }); study.periods ??= 12; }
      else { ["time", "period", "zone"].forEach(name => delete study.data[name]); delete study.periods; study.promise.forEach(p => delete p.scope); }
    }, { key: "data-time" });
    series.hidden = !v;
    drawPromises();
  });
  byId("periods").replaceChildren(time, series);
  const rows = state.study.group || [];
  byId("groups").replaceChildren(...rows.map((g, i) => {
    const n = i + 1, set = name => v => change(study => { study.group[i][name] = v; }, { key: `group-${i}-${name}` });
    const sizes = field({ kind: "lines", label: "Sizes", about: "A label and how many people it has, one a line: public, never counted from the records." }, Object.entries(g.sizes || {}).map(([label, size]) => `${label} ${size}`), lines => set("sizes")(Object.fromEntries(lines.map(line => { const at = line.lastIndexOf(" "); return at < 0 ? [line, 0] : [line.slice(0, at).trim(), number(line.slice(at + 1))]; }))));
    const drop = el("button", { type: "button", className: "drop", "aria-label": `Remove grouping ${n}`, onclick: () => change(study => { study.group.splice(i, 1); study.question.forEach(q => { if (q.by === g.name) delete q.by; }); if (!study.group.length) delete study.group; }, redraw) }, "×");
    return el("li", { className: "question" }, drop, el("div", { className: "pair" }, field({ kind: "text", label: `Grouping ${n}`, about: "Its name." }, g.name, set("name")), column("Its column", "Each person has one label there.", g.column ?? "", set("column"))), sizes);
  }));
}
byId("add-group").addEventListener("click", () => { change(study => { const half = Math.floor((Number(study.users) || 2) / 2); (study.group ??= []).push({ name: "region", column: "region", sizes: { north: half, south: (Number(study.users) || 2) - half } }); }, redraw); byId("groups").lastElementChild.querySelector("input").focus(); });

// 4: questions
function drawQuestions(suggest) {
  const rows = state.study.question || [], kinds = given.catalogue.questions;
  byId("questions").replaceChildren(...rows.map((q, j) => {
    const n = j + 1, kind = kinds.find(k => k.kind === q.kind) || { fields: [], about: "" };
    const put = name => v => change(study => { if (v === undefined || v === "") delete study.question[j][name]; else study.question[j][name] = v; }, { key: `q${j}-${name}` });
    const look = el("label", { className: "tick look" }, el("input", { type: "radio", name: "looked", checked: state.looked === j, onchange: () => change((study, s) => { s.looked = j; }, redraw) }), ` Show question ${n}`);
    const drop = el("button", { type: "button", className: "drop", "aria-label": `Remove question ${n}`, disabled: rows.length < 2, onclick: () => change((study, s) => { study.question.splice(j, 1); s.looked = Math.max(0, Math.min(s.looked, study.question.length - 1)); }, redraw) }, "×");
    const parts = [rows.length > 1 ? look : null, drop, field({ kind: "choice", label: `Question ${n}`, choices: kinds.map(k => ({ value: k.kind, name: k.name })), about: kind.about }, q.kind, v => change(study => { const found = kinds.find(k => k.kind === v), made = { kind: v, name: study.question[j].name || v }; found.fields.forEach(f => { if (f.value !== undefined) made[f.name] = f.kind === "distance" && given.distances.length ? given.distances[Math.floor(given.distances.length / 2)] : f.value; }); if (study.question[j].fraction !== undefined) made.fraction = study.question[j].fraction; study.question[j] = made; }, redraw))];
    for (const f of kind.fields) {
      const typed = field(f, q[f.name], put(f.name), { label: f.label });
      parts.push(typed);
      if (f.kind === "distance" && given.distances.length > 1) parts.push(...distanceSlider(f, q, typed, put(f.name), f.name === "bandwidth" ? suggest : null));
    }
    parts.push(el("div", { className: "pair" }, field({ kind: "text", label: "Name", about: "Its folder of results." }, q.name ?? "", put("name")), field({ kind: "text", label: "Fraction of α", about: "An equal share if empty." }, q.fraction ?? "", put("fraction"))));
    const groupings = (state.study.group || []).map(g => g.name);
    if (groupings.length) parts.push(field({ kind: "choice", label: "By", choices: [{ value: "", name: "everybody together" }, ...groupings], about: "One answer for each group, with the whole promise for each." }, q.by ?? "", put("by")));
    return el("li", { className: "question", "data-where": `question-${j}` }, ...parts.filter(Boolean));
  }));
}
function distanceSlider(f, q, typed, set, suggest) {
  const sizes = given.distances.map(t => Number.parseFloat(t));
  const s = slider("Less or more", given.distances, nearest(sizes, Number.parseFloat(String(q[f.name])) || sizes[0]), k => { typed.control.value = given.distances[k]; set(given.distances[k]); }, "Farther is less noisy, and less sharp.");
  s.out.hidden = true;
  s.range.addEventListener("change", settle);
  const parts = [s];
  if (suggest) { const button = el("button", { type: "button", className: "small", onclick: () => suggest("bandwidth", button.parentElement) }, "Suggest a bandwidth"); parts.push(button); }
  return parts;
}
byId("add-promise").addEventListener("click", () => { change(study => { delete study.alpha; (study.promise ??= []).push({ share: "1/10", distance: study.promise[0]?.distance || "anywhere", epsilon: "0.5" }); }, redraw); byId("promises").lastElementChild.querySelector("input").focus(); });
byId("add-question").addEventListener("click", () => { change((study, s) => { const names = study.question.map(q => q.name || q.kind); let name = "mean", k = 2; while (names.includes(name)) name = `mean-${k++}`; study.question.push({ kind: "mean", name }); s.looked = study.question.length - 1; }, redraw); byId("questions").lastElementChild.querySelector("select").focus(); });
byId("form").addEventListener("submit", e => e.preventDefault());
byId("form").addEventListener("focusout", settle);
