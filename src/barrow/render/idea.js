(() => {
  const id = (name) => document.getElementById(name), t = JSON.parse(id("tables").textContent), ns = "http://www.w3.org/2000/svg";
  let draw = 0;
  const top = 1.15 * Math.max(...t.truth), y = (v) => 175 - 140 * Math.min(Math.max(v, 0), top) / top;
  const x = (minute) => 20 + 420 * minute / t.longest;
  function bars(kind) {
    id(kind + "-chart").querySelectorAll(".bar").forEach((bar, i) => {
      const at = y(t.draws[kind][draw][i]);
      bar.setAttribute("y", at);
      bar.setAttribute("height", 175 - at);
    });
  }
  function show() {
    const i = +id("share").value, j = +id("far").value, share = t.shares[i], far = t.distances[j];
    const words = far === 1 ? "1 minute" : far + " minutes";
    id("share-said").textContent = share + " %";
    id("share").setAttribute("aria-valuetext", share + " %");
    id("far-said").textContent = words;
    id("far").setAttribute("aria-valuetext", words);
    for (const svg of document.querySelectorAll("svg")) {
      const end = x(Math.min(t.longest, t.start + far));
      svg.querySelector(".way").setAttribute("d", `M${x(t.start) + 7} 16H${Math.max(end, x(t.start) + 7)}`);
      svg.querySelector(".to").setAttribute("cx", end);
      svg.querySelector(".to").setAttribute("fill-opacity", 0.15 + 0.85 * share / 100);
    }
    id("emd-odds").textContent = t.learnt[i][j];
    id("emd-odds").classList.toggle("bad", t.alarming[i][j]);
    id("verdict").textContent = t.alarming[i][j]
      ? "Here barrow hides far less than user-level DP: this move can be found out almost surely."
      : t.better[i][j]
        ? "This move is hidden at least as well as by user-level DP, and the picture is sharper."
        : "This move is hidden less than by user-level DP. That is the price of the sharper picture.";
  }
  id("share").addEventListener("input", show);
  id("far").addEventListener("input", show);
  id("again").addEventListener("click", () => {
    draw = (draw + 1) % t.draws.emd.length;
    bars("emd");
    bars("user_level");
  });
})();
