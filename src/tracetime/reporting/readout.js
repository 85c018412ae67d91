"use strict";
// Says what a picture shows at the pointer: value, bar and instant, to the nanosecond. Absolute times
// are BigInt; numbers are relative to one of them.
const Readout = (() => {
  const near = 7;
  const grouped = (n) => n.toLocaleString("en-US");
  const signed = (ns) => {
    const whole = Math.round(ns);
    return (whole > 0 ? "+" : whole < 0 ? "−" : "") + grouped(Math.abs(whole));
  };
  // Seconds and more are told in seconds, to the nanosecond all the same.
  const span = (ns) => (Math.abs(ns) < 1e9 ? `${signed(ns)} ns` : (ns > 0 ? "+" : "−") + seconds(Math.abs(ns)));
  const amount = (ns) => span(Math.round(ns)).replace("+", "");
  // The same of a BigInt: a number would lose nanoseconds of what is longer than some months.
  const exactly = (ns) => {
    const whole = ns < 0n ? -ns : ns;
    if (whole < 1000000000n) return `${grouped(ns)} ns`;
    const rest = String(whole % 1000000000n).padStart(9, "0");
    return `${ns < 0n ? "−" : ""}${grouped(whole / 1000000000n)}.${rest} s`;
  };
  const seconds = (ns) => `${(ns / 1e9).toLocaleString("en-US", { minimumFractionDigits: 9 })} s`;
  const rate = (ppm) => (ppm < 0 ? "−" : "+") + Math.abs(ppm).toPrecision(4);

  function int64(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new BigInt64Array(bytes.buffer);
  }

  // The first index whose value is above x, of ascending values.
  function above(values, x) {
    let low = 0;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] > x) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The columns that the panels of a picture draw, by the name of their source.
  function columns(panels) {
    const found = {};
    for (const panel of panels) {
      for (const { data_source } of panel.model.renderers) {
        if (data_source.name) found[data_source.name] = data_source;
      }
    }
    return (source, column) => Array.from(found[source]?.get_column(column) ?? [], Number);
  }

  function ofPair(facts, panels) {
    const { unit, origin, zones } = facts;
    const column = columns(panels);
    const times = column("tube", "time").map((t) => t * unit);
    const size = facts.size;
    const [estimate, low, high] = ["estimate", "low", "high"].map((c) => column("tube", c).map((v) => v * size));
    const floor = column("width", "floor");
    const rates = ["start", "end", "ppm", "low", "high"].map((c) => column("rates", c));
    const every = (c) => ["snapshots", "messages", "outliers"].flatMap((kind) => column(kind, c));
    const [offset, half, number] = [every("offset").map((v) => v * size), every("half"), every("number")];
    const snapshots = column("snapshots", "time").length;
    const plain = snapshots + column("messages", "time").length;
    const references = int64(facts.references);
    const clocks = int64(facts.clocks);
    const start = BigInt(origin);
    const seen = Array.from(references, (value) => Number(value - start));

    const nearest = (t, n) => {
      let best = -1;
      for (let k = 0; k < n; k++) {
        if (best < 0 || Math.abs(seen[k] - t) < Math.abs(seen[best] - t)) best = k;
      }
      return best;
    };

    // What the clock reads: what it read at the nearest snapshot with no zone between, and since.
    function reading(t, height) {
      const inZone = (a, b) => zones.some((z) => z.end > a && z.start < b);
      const k = nearest(t, plain);
      if (k < 0 || inZone(Math.min(t, seen[k]), Math.max(t, seen[k]))) return null;
      const since = Math.round(t) - seen[k];
      return clocks[k] + BigInt(since) + BigInt(Math.round(height - offset[k] + facts.trend * 1e-6 * since));
    }

    function bar(down, up) {
      if (!Number.isFinite(down)) return Number.isFinite(up) ? `open, to ${span(up)}` : "open";
      if (!Number.isFinite(up)) return `open, from ${span(down)}`;
      return `± ${amount((up - down) / 2)} (${span(down)} to ${span(up)})`;
    }

    function kind(k) {
      if (number[k] < 0) return ["message", k < plain ? "bounds one side" : "arrives before it was sent"];
      const what = k < snapshots ? "snapshot" : "outlier";
      return [what, `no. ${grouped(number[k])}, half-width ${amount(half[k])}`];
    }

    function between(t) {
      const right = Math.min(Math.max(above(times, t), 1), times.length - 1);
      const left = right - 1;
      const share = (t - times[left]) / (times[right] - times[left]);
      const at = (values) => values[left] + (values[right] - values[left]) * share;
      if (t < times[0] || t > times[times.length - 1] || !Number.isFinite(at(estimate))) return [];
      const value = at(estimate);
      const [down, up] = [at(low), at(high)];
      const lines = [];
      const read = reading(t, value);
      if (read !== null) lines.push(["reading", `${facts.clock} ${grouped(read)} ns`]);
      lines.push(["offset − trend", span(value)]);
      lines.push(["error bar", bar(down, up)]);
      const off = Math.round(at(floor));
      if (Number.isFinite(off)) lines.push(["floor", off > 1 ? `off by ${amount(off)}` : "off by at most 1 ns"]);
      return lines;
    }

    function describe({ x, pixel }) {
      let t = x * unit;
      const k = nearest(t, seen.length);
      const onSnapshot = k >= 0 && Math.abs(seen[k] - t) <= pixel * unit * near;
      if (onSnapshot) t = seen[k];
      const instant = grouped(start + BigInt(Math.round(t)));
      const lines = [["time", seconds(t)], ["instant", `${facts.reference} ${instant} ns`]];
      if (onSnapshot) {
        lines.push(kind(k));
        lines.push(["reading", `${facts.clock} ${grouped(clocks[k])} ns`]);
        lines.push(["offset", exactly(clocks[k] - references[k])]);
      }
      lines.push(...between(t).filter(([what]) => !onSnapshot || what !== "reading"));
      const run = rates[0].findIndex((from, i) => t / unit >= from && t / unit <= rates[1][i]);
      if (run >= 0) {
        const [ppm, least, most] = [2, 3, 4].map((i) => rate(rates[i][run]));
        lines.push(["drift", `${ppm} ppm (${least} to ${most})`]);
      }
      const slack = pixel * unit * 3;
      for (const zone of zones) {
        if (t < zone.start - slack || t > zone.end + slack) continue;
        const when = zone.start === zone.end ? `at ${seconds(zone.start)}` : `${seconds(zone.start)} to ${seconds(zone.end)}`;
        lines.push(["zone", `${zone.text}; ${when}`]);
      }
      return { x: t / unit, lines };
    }

    const stops = seen.map((t) => t / unit).sort((a, b) => a - b);
    return { describe, stops };
  }

  function ofEvents(facts) {
    const edges = int64(facts.edges);
    const places = Array.from(edges, (edge) => Number(edge - edges[0]) / facts.unit);
    function describe({ x, y }) {
      const bin = Math.min(Math.max(above(places, x) - 1, 0), places.length - 2);
      const level = y === undefined ? undefined : facts.rows.length - 1 - Math.floor(y);
      const lines = [["from", `${facts.reference} ${grouped(edges[bin])} ns`], ["to", `${grouped(edges[bin + 1])} ns`]];
      for (const [k, row] of facts.rows.entries()) {
        if (level !== undefined && k !== level) continue;
        const lost = row.lost[bin] > 0 ? `, ${grouped(row.lost[bin])} without a trace time` : "";
        lines.push([row.name, `${grouped(row.events[bin] + row.lost[bin])} events${lost}`]);
      }
      return { x, lines };
    }
    return { describe, stops: places.slice(0, -1) };
  }

  function ofPoints(facts, panels) {
    const points = facts.points;
    function describe({ x, y, px, py }) {
      const { x_scale, y_scale } = panels[0].frame_view;
      const away = (p) =>
        y === undefined ? Math.abs(p[0] - x) : Math.hypot(x_scale.compute(p[0]) - px, y_scale.compute(p[1]) - py);
      const best = points.reduce((a, b) => (away(b) < away(a) ? b : a));
      if (y !== undefined && away(best) > 60) return null;
      return { x: best[0], lines: [["", best[2]]] };
    }
    return { describe, stops: points.map((p) => p[0]) };
  }

  const kinds = { pair: ofPair, events: ofEvents, points: ofPoints };

  function attach(figure, view, facts) {
    const panels = view.child_views.filter((child) => child.frame_view !== undefined);
    if (panels.length === 0) panels.push(view);
    const frame = figure.querySelector(".frame");
    const [line, box] = ["crosshair", "readout"].map((name) => {
      const made = document.createElement("div");
      made.className = name;
      made.hidden = true;
      frame.append(made);
      return made;
    });
    const { describe, stops } = kinds[facts.kind](facts, panels);
    let stop = -1;

    function hide() {
      line.hidden = box.hidden = true;
    }

    function show(panel, place) {
      const { bbox, x_scale } = panel.frame_view;
      const pixel = Math.abs(x_scale.invert(1) - x_scale.invert(0));
      const said = describe({ ...place, pixel });
      if (said === null) return hide();
      const outer = frame.getBoundingClientRect();
      const inner = panel.el.getBoundingClientRect();
      const left = inner.left - outer.left + x_scale.compute(said.x);
      line.hidden = box.hidden = false;
      line.style.left = `${left}px`;
      box.replaceChildren(
        ...said.lines.map(([what, text]) => {
          const row = document.createElement("div");
          const head = document.createElement("b");
          head.textContent = what;
          row.append(head, text);
          return row;
        }),
      );
      const width = box.offsetWidth;
      const fits = left + 14 + width <= outer.width;
      box.style.left = `${fits ? left + 14 : Math.max(left - 14 - width, 0)}px`;
      box.style.top = `${Math.max(0, (place.top ?? inner.top - outer.top) - 10)}px`;
    }

    function point(event) {
      const over = panels.find((panel) => {
        const { top, bottom } = panel.el.getBoundingClientRect();
        return event.clientY >= top && event.clientY <= bottom;
      });
      if (over === undefined) return hide();
      const { bbox, x_scale, y_scale } = over.frame_view;
      const rect = over.el.getBoundingClientRect();
      const [px, py] = [event.clientX - rect.left, event.clientY - rect.top];
      if (px < bbox.left || px > bbox.right) return hide();
      stop = -1;
      box.ariaLive = "off";
      const top = event.clientY - frame.getBoundingClientRect().top;
      show(over, { x: x_scale.invert(px), y: y_scale.invert(py), px, py, top });
    }

    frame.addEventListener("pointermove", point);
    frame.addEventListener("pointerdown", point);
    frame.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hide());
    frame.addEventListener("focusout", hide);
    frame.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return hide();
      if ((event.key !== "," && event.key !== ".") || stops.length === 0) return;
      event.preventDefault();
      const { start, end } = panels[0].model.x_range;
      if (stop < 0) stop = Math.min(above(stops, start), stops.length - 1);
      else stop = Math.min(Math.max(stop + (event.key === "." ? 1 : -1), 0), stops.length - 1);
      box.ariaLive = "polite";
      const [x] = [stops[stop]];
      if (x >= Math.min(start, end) && x <= Math.max(start, end)) show(panels[0], { x });
    });
    for (const panel of panels) panel.model.x_range.change?.connect(hide);
  }

  return { attach };
})();
