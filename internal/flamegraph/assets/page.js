"use strict";
// Draws the page. Every name is data: it reaches the document as text only, never as markup.
(function () {
  const doc = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const BEFORE = 2, AFTER = 3;
  let width = "after";
  let mode = doc.absolute ? "absolute" : "shares";

  const times = { ns: 1, nanoseconds: 1, nanosecond: 1, us: 1e3, "µs": 1e3, microseconds: 1e3, microsecond: 1e3,
    ms: 1e6, milliseconds: 1e6, millisecond: 1e6, s: 1e9, seconds: 1e9, second: 1e9 };

  // amount writes a weight in the unit that suits, with its sign where it is a difference.
  function amount(n, signed) {
    const sign = n < 0 ? "−" : signed && n > 0 ? "+" : "";
    let v = Math.abs(n), steps = null;
    if (v === 0) return "0";
    if (times[doc.unit]) {
      v *= times[doc.unit];
      steps = [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]];
    } else if (doc.unit === "bytes" || doc.unit === "byte") {
      steps = [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [2 ** 10, " KiB"], [1, " B"]];
    }
    if (!steps) return sign + v.toLocaleString("en-US") + (doc.unit && doc.unit !== "count" ? " " + doc.unit : "");
    const [by, name] = steps.find((s) => v >= s[0]) || steps[steps.length - 1];
    const scaled = v / by;
    return sign + (by === 1 ? scaled.toLocaleString("en-US") : scaled.toFixed(scaled < 10 ? 2 : scaled < 100 ? 1 : 0)) + name;
  }

  function percent(part, whole) {
    if (!whole) return "–";
    return (100 * part / whole).toFixed(2) + " %";
  }

  const total = { before: doc.nodes[0][BEFORE], after: doc.nodes[0][AFTER] };

  // change is how much more a node is after than before, in the chosen mode: percentage points, or the unit.
  function change(before, after) {
    if (mode === "absolute") return after - before;
    return 100 * ((total.after ? after / total.after : 0) - (total.before ? before / total.before : 0));
  }

  function changeText(before, after) {
    const d = change(before, after);
    if (mode === "absolute") return d === 0 ? "±0" : amount(d, true);
    if (Math.abs(d) < 0.005) return "±0";
    return (d > 0 ? "+" : "−") + Math.abs(d).toFixed(2) + " pp";
  }

  // build makes the tree that the library draws, with the chosen side as its width. It keeps marks in its nodes, so each drawing has its own.
  function build() {
    const nodes = doc.nodes.map(function (row) {
      const [name, place] = doc.names[row[1]];
      const label = row[4] ? "(" + row[4].toLocaleString("en-US") + " lighter frames)" : name;
      return { name: label, place: place, before: row[BEFORE], after: row[AFTER], folded: row[4], value: row[width === "after" ? AFTER : BEFORE], children: [] };
    });
    doc.nodes.forEach(function (row, i) {
      if (row[0] >= 0) nodes[row[0]].children.push(nodes[i]);
    });
    return nodes;
  }

  function describe(n) {
    let text = n.name + (n.place ? "  " + n.place : "");
    if (!doc.diff) return text + "\n" + amount(n.after) + ", " + percent(n.after, total.after) + " of all";
    return text + "\nbefore " + amount(n.before) + ", " + percent(n.before, total.before) +
      "\nafter " + amount(n.after) + ", " + percent(n.after, total.after) +
      "\n" + changeText(n.before, n.after) + (mode === "absolute" ? " (absolute)" : " (difference of shares)");
  }

  // Blue is less, orange is more: the two that the most people can tell apart. The change is in every label, too.
  function diffColor(n) {
    const d = change(n.before, n.after);
    const full = mode === "absolute" ? Math.max(total.before, total.after) / 5 : 20;
    const k = Math.min(1, Math.sqrt(Math.abs(d) / (full || 1)));
    const to = d > 0 ? [235, 120, 20] : [40, 110, 200];
    return "rgb(" + [240, 240, 240].map((c, i) => Math.round(c + (to[i] - c) * k)).join(",") + ")";
  }

  let chart = null;

  function captions() {
    const lines = doc.caption.slice();
    let what = doc.metric + " in " + doc.unit + ", ";
    if (doc.diff) {
      what += "total before " + doc.totals[0] + ", after " + doc.totals[1] + "; differences are " +
        (mode === "absolute" ? "absolute weights, after − before" : "of shares (each side is 100 %), after − before") + "; widths are " + width;
    } else {
      what += "total " + doc.totals[1];
    }
    lines.push(what);
    return lines;
  }

  function writeCaptions(svg, lines) {
    lines.forEach(function (text, i) {
      svg.append("text").attr("class", "caption").attr("x", 6).attr("y", 13 + 14 * i).attr("font-size", "11px").attr("font-family", "monospace").text(text);
    });
  }

  // depth is how many rows of frames are wide enough to be seen.
  function depth(root, pixels) {
    let deepest = 0;
    for (const open = [[root, 1]]; open.length;) {
      const [n, at] = open.pop();
      deepest = Math.max(deepest, at);
      for (const c of n.children) if (c.value * pixels > 0.5 * root.value) open.push([c, at + 1]);
    }
    return deepest;
  }

  function draw() {
    const box = byId("chart");
    box.textContent = "";
    const nodes = build();
    const pixels = Math.max(600, document.documentElement.clientWidth - 52);
    const lines = captions();
    const rows = depth(nodes[0], pixels);
    chart = flamegraph.default().width(pixels).height(rows * 18 + 14 * lines.length + 24).cellHeight(18).minFrameSize(0.5).transitionDuration(0).sort(false).selfValue(false);
    chart.label((d) => describe(d.data));
    chart.setSearchMatch((d, term) => term !== "" && d.data.name.toLowerCase().includes(term.toLowerCase()));
    chart.setSearchHandler(function (results, sum, all) {
      byId("details").textContent = results.length + " frames, " + amount(sum) + " (" + percent(sum, all) + ") of " + width + " are in or below them";
    });
    chart.setDetailsHandler(function (text) {
      if (text) byId("details").textContent = text.replaceAll("\n", "   ");
      else if (!byId("search").value) byId("details").textContent = "";
    });
    if (doc.diff) {
      chart.getName((d) => changeText(d.data.before, d.data.after) + "  " + d.data.name);
      chart.setColorMapper((d, color) => d.highlight ? color : diffColor(d.data));
    } else {
      chart.setColorMapper((d, color) => d.highlight ? color : d.data.folded ? "#ddd" : color);
    }
    const holder = d3.select(box).append("div").datum(nodes[0]);
    holder.call(chart);
    writeCaptions(holder.select("svg").attr("role", "img").attr("aria-label", document.title), lines);
    if (byId("search").value) chart.search(byId("search").value);
    table(nodes);
    legend();
    document.body.dataset.ready = width + " " + mode;
  }

  // table lists frames by their own weight, summed over the tree: own weights do not overlap, so recursion counts once.
  function table(nodes) {
    const frames = new Map();
    for (const n of nodes) {
      if (n.folded) continue;
      let before = n.before, after = n.after;
      for (const c of n.children) {
        before -= c.before;
        after -= c.after;
      }
      const key = JSON.stringify([n.name, n.place]);
      const f = frames.get(key) || { name: n.name, place: n.place, before: 0, after: 0 };
      f.before += before;
      f.after += after;
      frames.set(key, f);
    }
    const list = Array.from(frames.values()).filter((f) => f.before || f.after);
    const by = doc.diff ? (f) => Math.abs(change(f.before, f.after)) : (f) => f.after;
    list.sort((x, y) => by(y) - by(x) || (x.name < y.name ? -1 : 1));
    byId("table-title").textContent = doc.diff ? "Largest changes of self weight, " + (mode === "absolute" ? "absolute" : "in shares") : "Largest self weights";
    const out = byId("table");
    out.textContent = "";
    function line(cells, tag) {
      const tr = document.createElement("tr");
      for (const [text, right] of cells) {
        const td = document.createElement(tag);
        td.textContent = text;
        if (right) td.className = "n";
        tr.append(td);
      }
      out.append(tr);
    }
    if (doc.diff) line([["change"], ["before"], ["after"], ["function"], ["where"]], "th");
    else line([["self"], ["share"], ["function"], ["where"]], "th");
    for (const f of list.slice(0, 25)) {
      if (doc.diff) line([[changeText(f.before, f.after), true], [amount(f.before), true], [amount(f.after), true], [f.name], [f.place]], "td");
      else line([[amount(f.after), true], [percent(f.after, total.after), true], [f.name], [f.place]], "td");
    }
  }

  function legend() {
    const out = byId("legend");
    out.textContent = "";
    function entry(color, text) {
      const span = document.createElement("span");
      if (color) {
        const box = document.createElement("span");
        box.className = "box";
        box.style.background = color;
        span.append(box);
      }
      span.append(text);
      out.append(span);
    }
    if (!doc.diff) {
      entry("", "Width is weight; colours tell neighbours apart and mean nothing. Click a frame to zoom.");
      return;
    }
    entry("rgb(235,120,20)", "+ more after than before");
    entry("rgb(40,110,200)", "− less after than before");
    entry("rgb(240,240,240)", "±0 the same");
    entry("", mode === "absolute" ? "Absolute: weights as they are, total before " + doc.totals[0] + ", after " + doc.totals[1]
      : "Normalised: each side is 100 %; pp are percentage points (total before " + doc.totals[0] + ", after " + doc.totals[1] + ")");
    entry("", "What is only before has no width here: choose \"Width is before\", or read the table.");
  }

  byId("search").addEventListener("input", function () {
    if (this.value) {
      chart.search(this.value);
    } else {
      chart.clear();
      byId("details").textContent = "";
    }
  });
  byId("reset").addEventListener("click", () => chart.resetZoom());
  byId("save").addEventListener("click", function () {
    const svg = byId("chart").querySelector("svg").cloneNode(true);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    style.textContent = ".d3-flame-graph rect{stroke:#eee;fill-opacity:.8}.d3-flame-graph-label{white-space:nowrap;overflow:hidden;font:12px sans-serif;margin:0 4px;line-height:1.5}.fade{opacity:.6}";
    svg.prepend(style);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" }));
    link.download = "flamegraph.svg";
    link.click();
  });
  if (doc.diff) {
    byId("mode").value = mode;
    byId("mode").addEventListener("change", function () { mode = this.value; draw(); });
    byId("width").addEventListener("change", function () { width = this.value; draw(); });
  }
  let pending = 0;
  window.addEventListener("resize", function () {
    clearTimeout(pending);
    pending = setTimeout(draw, 200);
  });
  draw();
})();
