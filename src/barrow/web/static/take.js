// Taking it along: the file, and the release with its stages.
import { state } from "./state.js";
import { el, field, problem } from "./fields.js";
import { post } from "./talk.js";
const byId = id => document.getElementById(id);
const words = { validate: "Check what is public", read: "Read the records, in a process of their own", reserve: "Charge the budget: write the price into the ledger", draw: "Draw the noise", stage: "Write the files", commit: "Record their digests in the ledger", publish: "Show them" };
const example = { day: "2026-10-31", week: "2026-W44", month: "2026-10", quarter: "2026-Q4", year: "2026" };
let last = null, watching = false;

// What the file was when this tab last saw it: another tab's version is not overwritten unasked.
export const saw = digest => sessionStorage.setItem("seen", JSON.stringify(digest));
const seen = () => JSON.parse(sessionStorage.getItem("seen"));

async function save(over) {
  const found = await post("save", { study: state.study, looked: state.looked, seen: seen(), over });
  if (found.status !== 200) {
    problem("save", found);
    if (found.fix?.includes("save over")) byId("saved").replaceChildren(el("button", { type: "button", onclick: () => save(true) }, "Save over it"));
    return false;
  }
  problem("save", null);
  saw(found.seen);
  byId("saved").textContent = `Saved as ${found.file} in ${found.folder}.`;
  document.body.dataset.saved = "yes";
  return true;
}
byId("save").addEventListener("click", () => save(false));
byId("download").addEventListener("click", () => {
  const a = el("a", { href: URL.createObjectURL(new Blob([byId("toml").textContent], { type: "application/toml" })), download: "study.toml" });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 1000);
});
byId("copy").addEventListener("click", async () => { try { await navigator.clipboard.writeText(byId("toml").textContent); byId("saved").textContent = "Copied."; } catch { byId("saved").textContent = "The browser does not let this page copy: open study.toml below and copy it there."; } });

// The release: confirmed by the name of the data set; stages, cancel, what was released, report.
export function offerRelease(a) {
  last = a;
  if (watching) return;
  const box = byId("release"), typed = box.querySelector("#typed")?.value || "";
  const job = byId("job") || el("div", { id: "job" }); // what was published stays on the page while the study changes
  const wanted = a.exact ? a.cost : null;
  const named = state.study.dataset || "", unit = state.study.data?.time ? state.study.data.period : null;
  const input = el("input", { id: "typed", type: "text", value: typed, autocomplete: "off", "aria-describedby": "typed-about" });
  const button = el("button", { type: "button", className: "danger", id: "spend", onclick: spend }, `Release “${a.label}”`);
  const period = unit ? field({ kind: "text", label: `Which ${unit}s`, about: `last (the last ${unit} that has ended), one such as ${example[unit]}, or a range with two dots.` }, state.period, v => { state.period = v; }) : null;
  box.replaceChildren(...[period, el("div", { className: "field" }, el("label", { htmlFor: "typed" }, named ? `Type the name of the data set, ${named}, to confirm` : "Name the data set above first"), input, el("p", { className: "about", id: "typed-about" }, wanted ? `This release costs ${wanted.name} = ${wanted.value}. The study is saved first; the same release is never drawn twice.` : "What it costs is being worked out.")), button, job].filter(Boolean));
  button.disabled = !wanted || !named;
}
async function spend() {
  byId("spend").disabled = true;
  const found = await post("release", { study: state.study, looked: state.looked, typed: byId("typed").value, period: state.study.data?.time ? state.period : null, seen: seen() });
  if (found.status === 200) saw(found.seen);
  if (found.status !== 200) { problem("release", found); byId("spend").disabled = false; return; }
  problem("release", null);
  byId("typed").value = "";
  await watch(found);
}
export async function watch(found) {
  watching = true;
  for (;;) {
    drawJob(found);
    if (found.state !== "running") break;
    await new Promise(r => setTimeout(r, 250));
    const next = await post("progress");
    if (next.status !== 200) { problem("release", next); break; }
    found = next;
  }
  watching = false;
  if (last) offerRelease(last);
}
function drawJob(found) {
  const box = byId("job");
  const stages = el("ol", { className: "stages", "aria-label": "Stages" }, ...found.stages.map(s => el("li", { className: s.name === found.stage && found.state === "running" ? "now" : s.seen ? "seen" : "", "aria-current": s.name === found.stage && found.state === "running" ? "step" : null }, words[s.name])));
  const parts = [found.part && found.state === "running" ? el("p", {}, found.part) : null, stages].filter(Boolean);
  if (found.note) parts.push(el("p", { role: "status" }, found.note));
  if (found.cancels) parts.push(el("button", { type: "button", id: "cancel", onclick: () => post("cancel") }, found.cancels));
  if (found.state === "cancelled") parts.push(el("p", { role: "status", className: "told" }, "Cancelled before the budget was charged: nothing was spent."));
  if (found.state === "failed") parts.push(el("p", { role: "alert", className: "problem" }, el("strong", {}, found.problem || "It failed."), found.allowed ? el("span", {}, "Allowed: " + found.allowed) : null, found.fix ? el("span", {}, "Try: " + found.fix) : null));
  if (found.state === "done") {
    const figure = el("div", { id: "released", className: "live" });
    if (found.figure) figure.append(document.importNode(new DOMParser().parseFromString(found.figure, "image/svg+xml").documentElement, true));
    const left = found.left.length ? ` Stopped before ${found.left.join(", ")}: nothing was spent on them.` : "";
    parts.push(el("p", { role: "status", className: "told" }, `Published in ${found.folder}: ${found.files.join(", ")}.${left}`), figure, el("pre", { tabindex: "0", "aria-label": "Released values" }, found.summary.join("\n")), el("pre", { className: "prose", tabindex: "0", "aria-label": "The statement of the release" }, found.statement));
    if (found.has_report) parts.push(el("button", { type: "button", id: "report", className: "main", onclick: async () => { const address = await post("report"); if (address.status === 200) window.open(address.address, "_blank", "noopener"); else problem("release", address); } }, "Open the report"));
  }
  const focused = document.activeElement?.id;
  box.replaceChildren(...parts);
  if (focused && !document.activeElement?.id) byId(focused)?.focus();
}
