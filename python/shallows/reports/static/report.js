// Draws the charts that the page's data describes, and reacts to clicks, keys and the theme.
"use strict";
(() => {
  const $ = (name, options = {}, ...children) => {
    const element = Object.assign(document.createElement(name), options);
    element.append(...children);
    return element;
  };

  // What the reader has chosen. It outlives a page that renews itself.
  const state = { hidden: new Set(), choices: new Map(), tails: new Set(), zoom: new Map() };
  let data, plots = [];

  // Theme: as the system, unless the reader says otherwise.
  const system = matchMedia("(prefers-color-scheme: dark)");
  let theme = "system";
  try { theme = localStorage.getItem("shallows-theme") || "system"; } catch { /* a file without storage */ }
  let printing = false;
  const isDark = () => !printing && (theme === "system" ? system.matches : theme === "dark");
  const button = document.getElementById("theme");
  function applyTheme() {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    button.textContent = { system: "Theme: system", light: "Theme: light", dark: "Theme: dark" }[theme];
    plots.forEach((plot) => plot.draw());
  }
  button.addEventListener("click", () => {
    theme = { system: isDark() ? "light" : "dark", light: "dark", dark: "light" }[theme];
    try { localStorage.setItem("shallows-theme", theme); } catch { /* likewise */ }
    applyTheme();
  });
  system.addEventListener("change", applyTheme);
  const print = (on) => () => {
    printing = on;
    applyTheme();
    // On paper a chart that is too wide becomes smaller; on the screen it is drawn anew instead.
    for (const { area, own } of plots) {
      const svg = area.querySelector("svg");
      if (on) svg.setAttribute("viewBox", `0 0 ${own.getWidth()} ${own.getHeight()}`);
      else svg.removeAttribute("viewBox");
    }
  };
  addEventListener("beforeprint", print(true));
  addEventListener("afterprint", print(false));

  // Numbers as the tables write them: three digits, no exponent.
  function digits(value) {
    if (value === null || !Number.isFinite(value)) return "–";
    const size = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(value)));
    return value.toLocaleString("en", { maximumFractionDigits: Math.min(Math.max(2 - size, 0), 12) });
  }
  const unit = (axis) => (axis.unit ? " " + axis.unit : "");

  // Looks: colour, marker and dashes as in the figures. On black, the two darkest colours are lighter.
  const lighter = { "#000000": "#f2f2f2", "#0072B2": "#4aa3df" };
  const symbols = {
    o: "circle", s: "rect", "^": "triangle", D: "diamond", v: "path://M0,0L10,0L5,9Z",
    x: "path://M0,1L1,0L5,4L9,0L10,1L6,5L10,9L9,10L5,6L1,10L0,9L4,5Z",
    P: "path://M3,0L7,0L7,3L10,3L10,7L7,7L7,10L3,10L3,7L0,7L0,3L3,3Z",
    "*": "path://M5,0L6.5,3.5L10,3.8L7.3,6.2L8.2,10L5,7.9L1.8,10L2.7,6.2L0,3.8L3.5,3.5Z",
  };
  const outlines = {
    circle: "M8,6a3.6,3.6 0 1,0 7.2,0a3.6,3.6 0 1,0 -7.2,0", rect: "M8.4,2.6h6.8v6.8h-6.8z", triangle: "M8,9.6L11.8,2.6L15.6,9.6z",
    diamond: "M7.6,6L11.8,1.8L16,6L11.8,10.2z",
  };
  // Over time, dashes would be lost among the ups and downs.
  // Of more lines than looks, values that were swept are shades of viridis, lighter on black; as in the figures.
  const viridis = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129], [92, 200, 99], [170, 220, 50], [253, 231, 37]];
  function shaded(shade) {
    const at = (isDark() ? 0.3 + 0.7 * shade : 0.9 * shade) * (viridis.length - 1), first = Math.min(Math.floor(at), viridis.length - 2);
    return `rgb(${viridis[first].map((part, i) => Math.round(part + (at - first) * (viridis[first + 1][i] - part))).join(", ")})`;
  }
  function look({ look: number, shade }, kind) {
    if (shade !== null) return { color: shaded(shade), symbol: "circle", dash: [] };
    const all = data.looks, place = number % all.length, again = Math.floor(number / all.length);
    const color = all[place].color;
    return {
      color: isDark() ? lighter[color] || color : color,
      symbol: symbols[all[place].marker],
      dash: kind === "steps" ? [] : all[(place + again) % all.length].dash.map((part) => 2 * part),
    };
  }
  function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

  // Round numbers on a logarithmic axis: decades, with 2 and 5 (or 3) between where there are few.
  function decades(low, high) {
    const span = Math.log10(high / low), ticks = [];
    const factors = span <= 0.7 ? [1, 1.5, 2, 3, 4, 5, 6, 8] : span <= 1.6 ? [1, 2, 5] : span <= 2.3 ? [1, 3] : [1];
    const step = 1 + Math.floor(span / 6);
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += step)
      for (const factor of factors) {
        const tick = factor * 10 ** power;
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    return ticks;
  }

  // An axis: how values become places, and how ECharts shall show it.
  // `more`, such as the ends of intervals, must fit, but does not decide whether it is logarithmic.
  function scale(axis, values, { fromZero, fixed, more = [] }) {
    const ends = (found) => [found.reduce((a, b) => Math.min(a, b), Infinity), found.reduce((a, b) => Math.max(a, b), 0)];
    const [low, high] = ends(values.filter((value) => value > 0)), hasZero = values.some((value) => !(value > 0));
    if (axis.names.length) return { place: (v) => v, value: (v) => v, names: axis.names };
    if (axis.log && high > 10 * low && !(hasZero && fromZero)) {
      // An interval that reaches down to nothing ends at the axis.
      const [least, most] = ends([low, high, ...more.filter((value) => value > low / 10)]), floor = Math.log10(least / 1.12);
      return { place: (v) => (v > 0 ? Math.max(Math.log10(v), floor) : floor), value: (v) => 10 ** v, log: true, min: floor, max: Math.log10(most * 1.12) };
    }
    const [least] = ends([...values, ...more]);
    const pad = fromZero || fixed ? 0 : (high - least) * 0.04 || high * 0.04 || 1;
    return { place: (v) => v, value: (v) => v, min: fixed ? axis.start : fromZero ? 0 : least - pad, max: fixed ? high : fromZero ? undefined : high + pad };
  }
  // Names below an axis of this width in pixels: in lines of words, or upright where few letters fit side by side.
  const LETTER = 6.8, LINE = 15, LONGEST = 110;
  function namesBelow(names, width) {
    const most = Math.floor(width / names.length / LETTER) - 1;
    if (most < 6) {
      const longest = Math.max(...names.map((name) => name.length * LETTER));
      return { height: Math.min(longest, LONGEST), label: { rotate: 90, width: LONGEST, overflow: "truncate" } };
    }
    const lines = new Map(names.map((name) => [name, wrapped(name, most)]));
    return { height: LINE * Math.max(...[...lines.values()].map((each) => each.length)), label: { formatter: (name) => lines.get(name).join("\n") } };
  }
  function wrapped(name, most) {
    const lines = [""];
    for (const word of name.split(" ")) {
      const [last] = lines.slice(-1), joined = last ? `${last} ${word}` : word;
      if (joined.length <= most) lines[lines.length - 1] = joined;
      else lines.splice(last ? lines.length : lines.length - 1, last ? 0 : 1, ...word.match(new RegExp(`.{1,${most}}`, "gu")) || [""]);
    }
    return lines;
  }
  function axisOption(axis, made, colors, range) {
    const text = { color: colors.soft, fontSize: 12 };
    const option = {
      type: made.names ? "category" : "value", name: axis.name, nameLocation: "middle", nameTextStyle: { ...text, color: colors.text },
      // An end of the axis that is where values end is no round number.
      min: made.min, max: made.max, axisLabel: { ...text, margin: 10, hideOverlap: true, showMinLabel: made.log || made.min === 0 ? undefined : false, showMaxLabel: made.log || made.max === undefined || made.max === 1 ? undefined : false, formatter: (v) => digits(made.value(v)) },
      axisLine: { show: true, onZero: false, lineStyle: { color: colors.soft } }, axisTick: { show: false },
      splitLine: { show: !made.names, lineStyle: { color: colors.line, width: 1 } }, splitNumber: 5,
      axisPointer: { label: { show: false }, lineStyle: { color: colors.soft, type: "solid" } },
    };
    if (made.names) Object.assign(option, { data: made.names, axisLabel: { ...text, margin: 10, interval: 0, lineHeight: LINE, ...made.label } });
    if (made.log) {
      const [from, to] = range || [made.min, made.max];
      const ticks = decades(10 ** from, 10 ** to).map(Math.log10);
      for (const part of ["axisLabel", "axisTick", "splitLine"]) option[part].customValues = ticks;
    }
    return option;
  }

  // Of a line over time, what is drawn between two times: all of its parts, or of more than can be seen parts of
  // equal time. A part is [begin, mean], or [begin, mean, lowest, highest] if it has several values.
  function shorten(points, from, to, most) {
    const begins = (time, low = 0, high = points.length) => {
      while (low < high) { const middle = (low + high) >> 1; points[middle][0] <= time ? (low = middle + 1) : (high = middle); }
      return Math.max(low - 1, 0);
    };
    const first = begins(from), last = Math.min(begins(to) + 1, points.length - 1);
    if (last - first < most) return points.slice(first, last + 1);
    const found = [], width = (to - from) / most;
    let place = first;
    for (let part = 0; part < most; part++) {
      const begin = Math.max(from + part * width, points[0][0]), end = from + (part + 1) * width;
      let area = 0, low = Infinity, high = -Infinity;
      for (;; place++) {
        const [start, mean, least = mean, most = mean] = points[place];
        if (start >= end || place === points.length - 1) break;
        const next = points[place + 1][0];
        if (next > begin || next === start) [low, high] = [Math.min(low, least), Math.max(high, most)];
        area += mean * Math.max(Math.min(next, end) - Math.max(start, begin), 0);
        if (next > end) break;
      }
      if (low > high) continue; // nothing yet, or no longer
      const mean = Math.min(Math.max(area / (end - begin), low), high);
      found.push(low < high ? [begin, mean, low, high] : [begin, mean]);
    }
    const [end, value] = points[last];
    return [...found, [Math.min(end, to), value]];
  }

  class Plot {
    // `isShared`: its lines are in a legend for several charts; `shared`: that legend, of the first of them.
    constructor(figure, chart, isShared, shared) {
      Object.assign(this, { figure, chart, isShared, shared, area: figure.querySelector(".plot") });
      this.own = echarts.init(this.area, null, { renderer: "svg" });
      if (chart.window < 1 && !state.zoom.has(chart.name)) state.zoom.set(chart.name, [0, 100 * chart.window]);
      this.tools();
      this.downloads();
      this.own.on("datazoom", () => this.zoomed());
      this.area.addEventListener("keydown", (event) => this.key(event));
      this.area.addEventListener("dblclick", () => this.zoom(0, 100));
      new ResizeObserver(() => { if (!printing) { this.own.resize(); this.draw(); } }).observe(this.area);
      this.draw();
    }

    get lines() {
      const wanted = (line) => Object.entries(line.at).every(([axis, value]) => this.choice(axis) === value);
      return this.chart.lines.filter(wanted);
    }
    choice(axis) {
      const values = this.chart.choices[axis] || [], chosen = state.choices.get(axis);
      return values.includes(chosen) ? chosen : values[0];
    }
    get tail() { return this.chart.kind === "cdf" && state.tails.has(this.chart.name); }

    tools() {
      const choices = this.figure.querySelector(".choices");
      choices.replaceChildren();
      for (const [axis, values] of Object.entries(this.chart.choices)) {
        if (values.length < 2) continue;
        const select = $("select", {}, ...values.map((value) => $("option", { value, textContent: value })));
        select.value = this.choice(axis);
        select.addEventListener("change", () => {
          state.choices.set(axis, select.value);
          plots.forEach((plot) => { plot.tools(); plot.draw(); });
        });
        choices.append($("label", {}, axis, select));
      }
    }

    downloads() {
      const place = this.figure.querySelector(".downloads"), page = document.querySelector("h1").textContent;
      const name = `${page}-${this.chart.name}`.replace(/[^\p{L}\p{N}._-]+/gu, "-");
      const button = (kind, title, act) => {
        const made = $("button", { type: "button", className: "tool", textContent: kind.toUpperCase(), title });
        made.addEventListener("click", () => act((blob) => {
          const link = $("a", { href: URL.createObjectURL(blob), download: `${name}.${kind}` });
          link.click();
          setTimeout(() => URL.revokeObjectURL(link.href), 10000);
        }));
        return made;
      };
      const svg = () => this.picture().text;
      place.replaceChildren(
        button("svg", "Download as a drawing", (save) => save(new Blob([svg()], { type: "image/svg+xml" }))),
        button("png", "Download as a picture", (save) => this.raster(save)),
        button("csv", "Download the numbers that are drawn", (save) => save(new Blob([this.csv()], { type: "text/csv" }))),
      );
    }
    // The chart with its title and the names of its lines, which are elements of the page otherwise.
    picture() {
      const [width, height] = [this.own.getWidth(), this.own.getHeight()], colors = { text: css("--text"), back: css("--back") };
      const escaped = (text) => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
      const chosen = Object.entries(this.chart.choices).filter(([, values]) => values.length > 1).map(([axis]) => `${axis} ${this.choice(axis)}`);
      const title = [this.figure.querySelector("h3").textContent, ...chosen].join(", ");
      const names = new Map(this.lines.filter((line) => !state.hidden.has(line.name)).map((line) => [line.name, line]));
      const parts = [`<text x="10" y="20" font-size="14" font-weight="600">${escaped(title)}</text>`];
      let [x, y] = [10, 34];
      for (const [name, line] of names.size > 1 ? names : []) {
        const wide = 46 + 7 * name.length;
        if (x > 10 && x + wide > width) [x, y] = [10, y + 18];
        const swatch = new XMLSerializer().serializeToString(this.swatch(line)).replace("<svg", `<svg x="${x}" y="${y}" width="30" height="12"`);
        parts.push(swatch, `<text x="${x + 36}" y="${y + 10}" font-size="12">${escaped(name)}</text>`);
        x += wide;
      }
      const top = names.size > 1 ? y + 20 : 30, total = top + height;
      const drawn = new XMLSerializer().serializeToString(this.area.querySelector("svg")).replace("<svg", `<svg y="${top}"`);
      const font = escaped(getComputedStyle(document.body).fontFamily);
      const text = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" viewBox="0 0 ${width} ${total}" font-family="${font}" fill="${colors.text}">`
        + `<rect width="${width}" height="${total}" fill="${colors.back}"/>${parts.join("")}${drawn}</svg>`;
      return { text, width, height: total };
    }
    raster(save) {
      const { text, width, height } = this.picture(), image = new Image(), canvas = $("canvas", { width: 2 * width, height: 2 * height });
      image.addEventListener("load", () => {
        canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
        canvas.toBlob(save, "image/png");
      });
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    }
    // A row for each point of the lines that are shown, of those over time all that the page holds.
    csv() {
      const cell = (value) => (value === null || value === undefined ? "" : /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
      const { chart } = this, rows = [["line", chart.x.name || "place", chart.y.name, "low", "high"]];
      for (const line of this.lines) {
        if (state.hidden.has(line.name)) continue;
        for (const [x, y, low, high] of line.points) {
          const [, below, above] = line.bars.find(([place]) => place === x) || [];
          rows.push([line.name, chart.x.names.length ? chart.x.names[x] : x, y, low ?? below, high ?? above]);
        }
      }
      return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
    }

    legend() {
      const legend = this.figure.querySelector(".legend"), named = (lines) => new Map(lines.map((line) => [line.name, line]));
      const focused = document.activeElement?.dataset.line, holder = [legend, this.shared].find((each) => each?.contains(document.activeElement));
      legend.replaceChildren();
      const names = named(this.lines);
      if (!this.isShared && (names.size > 1 || this.chart.kind === "points")) this.entries(legend, names, this.chart.kind);
      if (this.shared) {
        this.shared.replaceChildren();
        this.entries(this.shared, named(this.chart.lines), this.shared.dataset.kind);
      }
      [...(holder?.children || [])].find((entry) => focused !== undefined && entry.dataset.line === focused)?.focus();
      const tool = (text, title, act) => {
        const made = $("button", { type: "button", className: "tool", textContent: text, title });
        made.addEventListener("click", act);
        legend.append(made);
      };
      if (this.chart.kind === "cdf")
        tool(this.tail ? "show all" : "show the tail", "The share that took longer, on a logarithmic axis", () => {
          this.tail ? state.tails.delete(this.chart.name) : state.tails.add(this.chart.name);
          this.draw();
        });
      if (state.zoom.has(this.chart.name)) tool("whole axis", "Zoom out (0, or a double click)", () => this.zoom(0, 100));
    }
    entries(legend, names, kind) {
      for (const [name, line] of names) {
        const entry = $("button", { type: "button", title: "Show or hide" }, this.swatch(line, kind), name);
        entry.dataset.line = name;
        entry.setAttribute("aria-pressed", String(!state.hidden.has(name)));
        entry.addEventListener("click", () => {
          state.hidden.has(name) ? state.hidden.delete(name) : state.hidden.add(name);
          plots.forEach((plot) => plot.draw());
        });
        legend.append(entry);
      }
    }
    swatch(line, kind = this.chart.kind) {
      const shown = look(line, kind), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("viewBox", "0 0 24 12");
      svg.setAttribute("aria-hidden", "true");
      const path = (d, more) => {
        const made = document.createElementNS(svg.namespaceURI, "path");
        for (const [key, value] of Object.entries({ d, stroke: shown.color, fill: "none", "stroke-width": 1.8, ...more })) made.setAttribute(key, value);
        svg.append(made);
      };
      if (!line.published) path("M0,6H24", { "stroke-dasharray": shown.dash.join(" ") });
      if (kind === "points" && outlines[shown.symbol])
        path(outlines[shown.symbol], { fill: line.published ? shown.color : css("--back"), "stroke-width": 1.4 });
      else if (kind === "points") path(shown.symbol.slice(7), { transform: "translate(7 1)", fill: shown.color, "stroke-width": 0.5 });
      return svg;
    }

    draw() {
      this.legend();
      const { chart } = this, lines = this.lines, seen = lines.filter((line) => !state.hidden.has(line.name));
      const colors = { text: css("--text"), soft: css("--soft"), line: css("--line"), back: css("--back") };
      const flip = this.tail ? ([x, y]) => [x, 1 - y] : (point) => point;
      // A distribution rises from nothing, at its first value.
      const whole = (line) => (chart.kind === "cdf" && !this.tail ? [[line.points[0][0], 0], ...line.points] : line.points);
      const points = (line) => whole(line).map(flip).filter(([, y]) => y !== null && !(this.tail && y <= 0));
      // Places stay when lines are hidden, so that what is left can be compared with what was there.
      const ends = lines.flatMap((line) => line.bars.flatMap((bar) => bar.slice(1)));
      const isOn = (level) => !level.lines.length || level.lines.some((name) => !state.hidden.has(name));
      const levels = chart.levels.filter((level) => isOn(level) && Object.entries(level.at).every(([axis, value]) => this.choice(axis) === value))
        .sort((one, other) => one.value - other.value);
      const x = this.x = scale(chart.x, lines.flatMap((line) => line.points.map((point) => point[0])), { fixed: chart.kind === "steps" });
      const highest = (line) => line.points.reduce((top, point) => Math.max(top, point[3] ?? point[1]), 0);
      const heights = chart.kind === "steps" ? seen.map(highest) : (this.tail ? lines : seen).flatMap((line) => points(line).map((point) => point[1]));
      const yAxis = this.tail ? { ...chart.y, name: "share that took longer", log: true } : chart.y;
      const y = this.y = scale(yAxis, heights, { fromZero: !this.tail, more: [...ends, ...levels.map((level) => level.value)] });
      if (chart.kind === "cdf" && !this.tail) y.max = 1;
      const [from, to] = state.zoom.get(chart.name) || [0, 100], span = x.max - x.min;
      const edges = [x.min + span * from / 100, x.min + span * to / 100];
      const most = Math.min(chart.most, this.area.clientWidth);
      this.parts = new Map(chart.kind === "steps" ? seen.map((line) => [line, shorten(line.points, ...edges, most)]) : []);
      // Of thresholds within 18 pixels of each other, each name has a place of its own.
      const reach = 1.1 * [...heights, ...levels.map((level) => level.value)].reduce((a, b) => Math.max(a, b), 0) * 18 / Math.max(this.area.clientHeight - 58, 1);
      const slots = levels.map(() => 0);
      for (let place = 1; place < levels.length; place++)
        if (levels[place].value - levels[place - 1].value < reach) slots[place] = (slots[place - 1] + 1) % 3;
      const at = ([px, ...rest]) => [x.place(px), ...rest.map((value) => y.place(value))];
      const drawable = ([px]) => !x.log || px > 0;
      const series = seen.map((line, place) => {
        const shown = look(line, chart.kind), marked = chart.kind === "points";
        return {
          type: "line", name: line.name, id: `${line.name}/${line.published}`, data: this.parts.has(line) ? this.parts.get(line).map(at) : points(line).filter(drawable).map(at), step: chart.kind === "points" ? false : "end",
          symbol: marked ? shown.symbol : "circle", showSymbol: marked, symbolSize: line.published ? 7 : 8, animation: false,
          lineStyle: { color: shown.color, width: chart.kind === "steps" ? 1.3 : 2, type: shown.dash.length ? shown.dash : "solid", opacity: line.published ? 0 : 1 },
          itemStyle: { color: marked && !line.published ? colors.back : shown.color, borderColor: shown.color, borderWidth: marked ? 1.6 : 0 },
          areaStyle: chart.kind === "steps" && seen.length === 1 ? { color: shown.color, opacity: 0.12 } : undefined,
          emphasis: { disabled: true }, cursor: "crosshair", z: 4 - place / (seen.length + 1), // the first on top, as in figures
        };
      });
      for (const line of seen.filter((line) => line.bars.length))
        series.push({ type: "custom", name: line.name, id: `${line.name}/bars`, data: line.bars.map(at), renderItem: whisker, itemStyle: { color: look(line).color },
          encode: { x: 0, y: [1, 2] }, tooltip: { show: false }, animation: false, silent: true, clip: true, z: 2 });
      for (const [line, parts] of this.parts)
        series.push({ type: "custom", name: line.name, id: `${line.name}/band`, data: [at([edges[0], highest(line)])], renderItem: band(parts, look(line, chart.kind).color),
          tooltip: { show: false }, animation: false, silent: true, clip: true, z: 2 });
      levels.forEach((level, place) => {
        const color = level.look === null ? colors.soft : look({ look: level.look, shade: null }, chart.kind).color;
        const height = y.place(level.value), label = { show: true, formatter: level.name, position: "top", distance: 2, color, fontSize: 11, backgroundColor: colors.back, borderRadius: 2, padding: [1, 3] };
        // Names of thresholds that are close stand side by side: at the right, in the middle, at the left.
        const slot = slots[place], points = [[edges[0], height], [(edges[0] + edges[1]) / 2, height], [edges[1], height]];
        points[2 - slot] = { value: points[2 - slot], label: { ...label, align: ["right", "center", "left"][slot] } };
        series.push({ type: "line", name: level.name, id: `${place}/level`, data: points, symbol: "circle", symbolSize: 0.01,
          lineStyle: { color, type: [5, 4], width: 1 }, tooltip: { show: false }, silent: true, animation: false, z: 5 });
      });
      const below = x.names ? namesBelow(x.names, this.area.clientWidth - 80) : { height: 36 };
      x.label = below.label;
      const inside = { type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false, preventDefaultMouseMove: false };
      this.own.setOption({
        backgroundColor: "transparent", textStyle: { fontFamily: getComputedStyle(document.body).fontFamily },
        grid: { left: 62, right: 18, top: 12, bottom: below.height + (x.names ? 16 : 10), containLabel: false },
        xAxis: { ...axisOption(chart.x, x, colors, edges), nameGap: 28 },
        yAxis: { ...axisOption(yAxis, y, colors), nameGap: 46 },
        dataZoom: x.names ? [] : [{ ...inside, xAxisIndex: 0, start: from, end: to }],
        tooltip: { trigger: "axis", confine: true, transitionDuration: 0, backgroundColor: colors.back, borderColor: colors.line,
          textStyle: { color: colors.text, fontSize: 12 }, padding: [6, 10], formatter: (found) => this.tip(found) },
        series,
      }, { notMerge: true });
      this.area.dataset.series = seen.length;
    }

    // What is under the pointer. Elements, not text: names may contain anything.
    tip(found) {
      const rows = found.filter((item) => item.seriesType === "line" && !item.seriesId.endsWith("/level")), { chart } = this;
      if (!rows.length) return "";
      const across = (item) => (this.x.names ? this.x.names[item.value[0]] : digits(this.x.value(item.value[0])) + unit(chart.x));
      const same = new Set(rows.map(across)).size === 1, box = $("div");
      box.append($("div", { textContent: same ? `${chart.x.name.replace(/ \(.*\)$/, "")} ${across(rows[0])}` : chart.y.name }));
      for (const item of rows) {
        const line = this.lines.find((each) => `${each.name}/${each.published}` === item.seriesId);
        const place = this.x.value(item.value[0]);
        const bar = line.bars.find(([px]) => Math.abs(px - place) <= 1e-6 * Math.abs(px));
        let text = digits(this.y.value(item.value[1])) + unit(chart.y);
        const [, , low, high] = (this.parts.get(line) || [])[item.dataIndex] || [];
        if (high !== undefined) text += `, from ${digits(low)} to ${digits(high)}`;
        if (bar) text += ` [${digits(bar[1])}, ${digits(bar[2])}]`;
        if (!same) text += ` at ${across(item)}`;
        const dot = $("i");
        dot.style.background = look(line).color;
        box.append($("div", { className: "tip-line" }, dot, $("span", { textContent: line.name || chart.y.name }), $("b", { textContent: text })));
      }
      return box;
    }

    zoom(from, to) { this.own.dispatchAction({ type: "dataZoom", start: Math.max(from, 0), end: Math.min(to, 100) }); }
    zoomed() {
      const found = (this.own.getOption().dataZoom || [])[0];
      if (!found) return;
      if (found.start > 0.01 || found.end < 99.99) state.zoom.set(this.chart.name, [found.start, found.end]);
      else state.zoom.delete(this.chart.name);
      cancelAnimationFrame(this.pending);
      this.pending = requestAnimationFrame(() => this.draw());
    }
    key(event) {
      const [from, to] = state.zoom.get(this.chart.name) || [0, 100], step = (to - from) / 5;
      const moves = { ArrowLeft: [-step, -step], ArrowRight: [step, step], "+": [step, -step], "=": [step, -step], "-": [-step, step], 0: [-100, 100] };
      const move = moves[event.key];
      if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      let [start, end] = [from + move[0], to + move[1]];
      if (move[0] === move[1]) { const back = Math.min(start, 0) || Math.max(end - 100, 0); start -= back; end -= back; }
      this.zoom(start, end);
    }
  }

  function whisker(_, api) {
    const [x, low, high] = [api.value(0), api.value(1), api.value(2)];
    const [px, bottom] = api.coord([x, low]), [, top] = api.coord([x, high]), style = { stroke: api.visual("color"), lineWidth: 1.3 };
    const stroke = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style });
    return { type: "group", children: [stroke(px, bottom, px, top), stroke(px - 4, bottom, px + 4, bottom), stroke(px - 4, top, px + 4, top)] };
  }

  // From the lowest to the highest value of each part that has several.
  function band(parts, color) {
    return (_, api) => {
      const shape = [];
      parts.slice(0, -1).forEach(([begin, , low, high], place) => {
        if (high === undefined) return;
        const [[left, bottom], [right, top]] = [api.coord([begin, low]), api.coord([parts[place + 1][0], high])];
        shape.push(`M${left},${bottom}H${right}V${top}H${left}Z`);
      });
      return shape.length ? { type: "path", shape: { pathData: shape.join("") }, style: { fill: color, opacity: 0.25 } } : undefined;
    };
  }

  function start() {
    data = JSON.parse(document.getElementById("data").textContent);
    plots.forEach((plot) => plot.own.dispose());
    plots = [];
    if (typeof echarts === "undefined") return;
    const charts = new Map(data.charts.map((chart) => [chart.name, chart]));
    for (const grid of document.querySelectorAll(".charts")) {
      const figures = [...grid.querySelectorAll("figure.chart")], lines = common(figures.map((figure) => charts.get(figure.dataset.chart)));
      let shared = grid.previousElementSibling;
      const kinds = figures.map((figure) => charts.get(figure.dataset.chart)).filter((chart) => namesOf(chart) === lines).map((chart) => chart.kind);
      shared.dataset.kind = kinds.includes("points") ? "points" : kinds[0];
      for (const figure of figures) {
        const chart = charts.get(figure.dataset.chart), isShared = namesOf(chart) === lines;
        plots.push(new Plot(figure, chart, isShared, isShared ? shared : null));
        if (isShared) shared = null;
      }
    }
  }

  const namesOf = (chart) => JSON.stringify([...new Set(chart.lines.map((line) => line.name))].sort());
  // The lines that most charts of a grid have, if these are several charts and lines.
  function common(charts) {
    const counts = new Map();
    for (const chart of charts) if (new Set(chart.lines.map((line) => line.name)).size > 1) counts.set(namesOf(chart), (counts.get(namesOf(chart)) || 0) + 1);
    const [most] = [...counts].sort((one, other) => other[1] - one[1]);
    return most && most[1] > 1 ? most[0] : null;
  }

  // Other numbers in the same charts, which stay where they are.
  function renew() {
    data = JSON.parse(document.getElementById("data").textContent);
    const charts = new Map(data.charts.map((chart) => [chart.name, chart]));
    for (const plot of plots) {
      const before = JSON.stringify(plot.chart.choices);
      plot.chart = charts.get(plot.chart.name);
      if (JSON.stringify(plot.chart.choices) !== before) plot.tools();
      plot.draw();
    }
  }

  applyTheme();
  start();
  window.shallows = { start, renew, shorten };
})();
