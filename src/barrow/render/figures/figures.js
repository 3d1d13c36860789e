"use strict";
// Reads figures out. Without this file every figure says the same in its picture, its description and its table.
const barrowRead = root => {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const make = (tag, kind, parent) => { const e = document.createElement(tag); e.className = kind; parent.append(e); return e; };
  root.querySelectorAll("svg.bw").forEach(svg => {
    const marks = [...svg.querySelectorAll("[data-at]")].map(g => {
      const [x, y] = g.dataset.at.split(",").map(Number);
      return { x, y, g, said: g.querySelector("title").textContent };
    });
    const layers = [...new Set([...svg.querySelectorAll("[data-layer]")].map(g => g.dataset.layer))];
    if (!marks.length && layers.length < 2) return;
    const after = document.createElement("div");
    svg.after(after);
    const row = layers.length > 1 ? make("div", "bw-layers", after) : null, out = make("p", "bw-said", after);
    out.setAttribute("aria-live", "polite");
    const shown = m => !m.g.closest(".off");
    if (marks.length) {
      const cursor = document.createElementNS("http://www.w3.org/2000/svg", "circle");
      cursor.setAttribute("class", "cursor off"); cursor.setAttribute("r", "7");
      svg.append(cursor);
      let at = null;
      const show = m => {
        at = m;
        cursor.classList.toggle("off", !m);
        if (m) { cursor.setAttribute("cx", m.x); cursor.setAttribute("cy", m.y); }
        out.textContent = m ? m.said : svg.dataset.else || "";
      };
      const nearest = (x, y, reach) => {
        let best = null, least = reach * reach;
        for (const m of marks) { const d = (m.x - x) ** 2 + (m.y - y) ** 2; if (d < least && shown(m)) { least = d; best = m; } }
        return best;
      };
      const point = e => {
        const p = new DOMPoint(e.clientX, e.clientY).matrixTransform(svg.getScreenCTM().inverse());
        const own = marks.find(m => m.g.contains(e.target) && shown(m));
        show(own || nearest(p.x, p.y, Number(svg.dataset.reach || 60)));
      };
      svg.addEventListener("pointermove", point);
      svg.addEventListener("pointerdown", point);
      svg.setAttribute("tabindex", "0");
      svg.addEventListener("focus", () => { if (!at) show(marks.find(shown)); });
      svg.addEventListener("keydown", e => {
        const step = arrows[e.key];
        if (!step) return;
        e.preventDefault();
        const from = at || marks.find(shown);
        let best = from, least = Infinity;
        for (const m of marks) {
          const u = m.x - from.x, v = m.y - from.y, along = u * step[0] + v * step[1], across = Math.abs(u * step[1]) + Math.abs(v * step[0]);
          if (along > 0.5 && along + 2.5 * across < least && shown(m)) { least = along + 2.5 * across; best = m; }
        }
        show(best);
      });
    }
    if (row) {
      const still = matchMedia("(prefers-reduced-motion: reduce)");
      row.setAttribute("role", "group"); row.setAttribute("aria-label", "What the figure shows");
      let shownNow = layers[0], frame = 0, timer = 0;
      const draw = () => svg.querySelectorAll("[data-layer]").forEach(g =>
        g.classList.toggle("off", g.dataset.layer !== shownNow || (g.dataset.frame || frame) != frame));
      // Draws of the noise run only while somebody lets them; a second press stops them, and who wants no motion steps.
      const stop = () => { clearInterval(timer); timer = 0; };
      layers.forEach((name, k) => {
        const button = make("button", "", row), own = [...svg.querySelectorAll(`[data-layer="${CSS.escape(name)}"]`)];
        const frames = new Set(own.map(g => g.dataset.frame || 0)).size;
        const next = () => { frame = (frame + 1) % frames; draw(); };
        const label = () => { button.textContent = frames < 2 ? name : timer && shownNow === name ? `${name}: stop` : still.matches && shownNow === name ? `${name}: next` : name; };
        button.type = "button"; button.setAttribute("aria-pressed", String(k === 0)); label();
        row.addEventListener("click", label);
        button.addEventListener("click", () => {
          const running = timer, same = shownNow === name;
          stop();
          row.querySelectorAll("button").forEach(b => b.setAttribute("aria-pressed", String(b === button)));
          if (!same) { shownNow = name; frame = 0; draw(); out.textContent = own[0].dataset.about || ""; }
          else if (frames > 1 && still.matches) next();
          if (frames > 1 && !still.matches && !running) timer = setInterval(next, 900);
        });
      });
    }
  });
};
barrowRead(document);
