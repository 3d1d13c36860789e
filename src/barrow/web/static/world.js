// A box on a map of the world: drawn with the pointer, or typed.
import { el, number } from "./fields.js";
const NS = "http://www.w3.org/2000/svg";
const svg = (tag, attributes) => { const e = document.createElementNS(NS, tag); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); return e; };
const ends = ["South", "West", "North", "East"];
let near = false;

export function boxPicker(path, value, set) {
  let box = value;
  const map = svg("svg", { class: "world", role: "img", "aria-label": "The box on a map of the world; draw a new one with the pointer, or type its ends below." });
  const mark = svg("rect", { class: "box" });
  map.append(svg("rect", { x: -180, y: -90, width: 360, height: 180, class: "sea" }), svg("path", { d: path, class: "land" }), mark);
  const good = b => Array.isArray(b) && b.length === 4 && b.every(x => typeof x === "number" && Number.isFinite(x)) && b[0] < b[2] && b[1] < b[3];
  const place = b => { if (good(b)) { const put = { x: b[1], y: -b[2], width: b[3] - b[1], height: b[2] - b[0] }; for (const [k, v] of Object.entries(put)) mark.setAttribute(k, v); } };
  const view = () => {
    if (!near || !good(box)) { map.setAttribute("viewBox", "-180 -90 360 180"); mark.setAttribute("stroke-width", 1.2); return; }
    const wide = Math.max(box[3] - box[1], 2 * (box[2] - box[0])) * 2.2, x = (box[1] + box[3]) / 2, y = -(box[0] + box[2]) / 2;
    map.setAttribute("viewBox", `${x - wide / 2} ${y - wide / 4} ${wide} ${wide / 2}`);
    mark.setAttribute("stroke-width", wide / 300);
  };
  const inputs = ends.map((name, k) => el("label", {}, name, el("input", { type: "text", inputMode: "decimal", value: Array.isArray(value) ? value[k] : "", oninput: e => {
    box = [...(Array.isArray(box) ? box : [0, 0, 1, 1])]; box[k] = number(e.target.value); place(box); set(box);
  } })));
  const at = e => { const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(map.getScreenCTM().inverse()); return [Math.max(-180, Math.min(180, p.x)), Math.max(-90, Math.min(90, -p.y))]; };
  const digits = () => (near ? 3 : 0);
  let from = null;
  const drawn = e => { const [x, y] = at(e), r = v => Number(v.toFixed(digits())); return [r(Math.min(from[1], y)), r(Math.min(from[0], x)), r(Math.max(from[1], y)), r(Math.max(from[0], x))]; };
  map.addEventListener("pointerdown", e => { from = at(e); map.setPointerCapture(e.pointerId); e.preventDefault(); });
  map.addEventListener("pointermove", e => { if (from) place(drawn(e)); });
  map.addEventListener("pointerup", e => {
    if (!from) return;
    const found = drawn(e);
    from = null;
    if (!good(found)) { place(box); return; }
    box = found;
    inputs.forEach((label, k) => { label.querySelector("input").value = box[k]; });
    set(box); view();
  });
  map.addEventListener("pointercancel", () => { from = null; place(box); });
  const zoom = el("button", { type: "button", className: "small", "aria-pressed": String(near), onclick: () => { near = !near; zoom.setAttribute("aria-pressed", String(near)); view(); } }, "Zoom to the box");
  place(box); view();
  return el("fieldset", { className: "picker" }, el("legend", {}, "Box, in degrees"), map, el("div", { className: "four" }, ...inputs), zoom);
}
