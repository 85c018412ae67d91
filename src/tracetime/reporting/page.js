"use strict";
// Draws the figures that are unfolded, one after the other, and gives them buttons, keys, and a still for the printer;
// sorts tables. It fetches nothing.
(() => {
  const ranges = new Map();
  const views = new Map();

  // Figures

  const panels = (model) => (model.children ?? [model]).map((c) => (Array.isArray(c) ? c[0] : c));

  // Bokeh is run when it is needed: that takes longer than all else on the page.
  function loadBokeh() {
    if (window.Bokeh !== undefined) return;
    const script = document.createElement("script");
    script.textContent = document.getElementById("bokeh").textContent;
    document.head.append(script);
  }

  async function draw(block) {
    loadBokeh();
    const name = block.dataset.figure;
    const { item, readout } = JSON.parse(block.textContent);
    const manager = await Bokeh.embed.embed_item(item, item.target_id);
    const view = manager.roots[0];
    const all = panels(view.model);
    views.set(name, view);
    Readout.attach(document.getElementById(name), view, readout);
    const range = all[0].x_range;
    ranges.set(name, { range, start: range.start, end: range.end });
    // A finger scrolls the page; it zooms by the buttons.
    if (matchMedia("(pointer: coarse)").matches) {
      for (const panel of all) {
        panel.toolbar.active_drag = null;
        panel.toolbar.active_scroll = null;
      }
    }
  }

  function zoom(name, start, end) {
    const at = ranges.get(name);
    if (at === undefined) return;
    const least = (at.end - at.start) * 1e-7;
    const width = Math.min(Math.max(end - start, least), at.end - at.start);
    const middle = (start + end) / 2;
    const from = Math.min(Math.max(middle - width / 2, at.start), at.end - width);
    at.range.setv({ start: from, end: from + width });
  }

  const moves = {
    in: (r, w) => [r.start + w / 4, r.end - w / 4],
    out: (r, w) => [r.start - w / 2, r.end + w / 2],
    left: (r, w) => [r.start - w / 3, r.end - w / 3],
    right: (r, w) => [r.start + w / 3, r.end + w / 3],
  };

  function act(name, what) {
    const at = ranges.get(name);
    if (at === undefined) return;
    if (what === "reset") zoom(name, at.start, at.end);
    else zoom(name, ...moves[what](at.range, at.range.end - at.range.start));
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-act]");
    if (button === null) return;
    const { act: what, figure, start, end } = button.dataset;
    if (what !== "show") return act(figure, what);
    zoom(figure, Number(start), Number(end));
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    document.getElementById(figure).scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
  });

  const keys = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "reset" };
  document.addEventListener("keydown", (event) => {
    const name = event.target.dataset?.keys;
    const what = keys[event.key];
    if (name === undefined || what === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(name, what);
  });

  // Printers

  function still() {
    for (const [name, view] of views) {
      const frame = document.getElementById(name).querySelector(".frame");
      let image = frame.querySelector(".still");
      if (image === null) {
        image = document.createElement("img");
        image.className = "still";
        image.alt = frame.querySelector(".canvas").getAttribute("aria-label");
        frame.append(image);
      }
      try {
        image.src = view.export("png", true).canvas.toDataURL("image/png");
        frame.classList.add("stilled");
      } catch (error) {
        frame.classList.remove("stilled");
        console.warn(error);
      }
    }
  }
  addEventListener("beforeprint", still);

  // Tables

  const value = (row, column) => {
    const cell = row.cells[column];
    const given = cell.dataset.v ?? cell.textContent;
    return cell.classList.contains("n") ? Number(given) : given;
  };
  const order = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));

  for (const button of document.querySelectorAll("table.sortable th button")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = head.closest("table").tBodies[0];
      const rows = [...body.rows].map((row) => [value(row, head.cellIndex), row]);
      rows.sort((one, other) => (down ? -1 : 1) * order(one[0], other[0]));
      body.append(...rows.map((pair) => pair[1]));
    });
  }

  // A link to something folded opens it, also when it is followed again.
  function open(hash) {
    const target = hash.length > 1 ? document.getElementById(hash.slice(1)) : null;
    for (let at = target; at !== null; at = at.parentElement) {
      if (at instanceof HTMLDetailsElement) at.open = true;
    }
    return target;
  }
  addEventListener("hashchange", () => open(location.hash)?.scrollIntoView());
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link !== null) open(link.getAttribute("href"));
  });
  open(location.hash)?.scrollIntoView();

  // What is in sight is drawn at once, what is unfolded while nobody waits, the rest when opened.
  const waiting = new Map();
  for (const block of document.querySelectorAll("script.figure")) waiting.set(block.dataset.figure, block);
  let last = Promise.resolve();

  function drawn(name) {
    const block = waiting.get(name);
    if (block === undefined) return last;
    waiting.delete(name);
    const figure = document.getElementById(name);
    last = last.then(() => draw(block)).then(() => (figure.dataset.drawn = "")).catch((error) => {
      figure.querySelector(".frame")
        .append("This picture could not be drawn; its tables say the same.");
      console.error(error);
    });
    return last;
  }

  const sight = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) if (entry.isIntersecting) drawn(entry.target.id);
    },
    { rootMargin: "200px" },
  );
  for (const name of waiting.keys()) sight.observe(document.getElementById(name));

  const unfolded = () =>
    [...waiting.keys()].filter((name) => document.getElementById(name).checkVisibility());
  document.addEventListener("toggle", () => unfolded().forEach(drawn), true);

  const idle = () =>
    new Promise((done) => {
      if (window.requestIdleCallback) requestIdleCallback(done, { timeout: 500 });
      else setTimeout(done, 50);
    });
  (async () => {
    await idle();
    performance.mark("shown");
    for (const name of unfolded()) {
      await idle();
      await drawn(name);
    }
    await last;
    document.documentElement.dataset.drawn = "all";
    performance.mark("drawn");
  })();
})();
