// The curves of the overview, and the same numbers as a table.

import { $, el, number, write } from "./elements.js";
import { bytes, clock, count, rate } from "./format.js";

const colour = (series, position) => (series.name.endsWith(" others") ? "rest" : `c${position}`);

const WIDTH = 600;
const HEIGHT = 100;

class Chart {
  constructor(name, title, unit, format) {
    Object.assign(this, { name, title, unit, format, curves: null, at: null });
    this.svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.top = el("span", { class: "top" });
    this.told = el("output");
    this.axis = el("div", { class: "axis", "aria-hidden": "true" }, el("span"), el("span"));
    this.plot = el("div", { class: "plot", tabindex: "0", role: "slider", "aria-label": `${title}, a moment`, "aria-valuemin": "0" }, this.svg, this.top);
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.move(null));
    this.plot.addEventListener("blur", () => this.move(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
    $("charts").append(el("figure", {}, el("figcaption", {}, el("b", {}, title), this.told), this.plot, this.axis));
  }

  point(event) {
    const box = this.plot.getBoundingClientRect();
    this.move(Math.round(((event.clientX - box.left) / box.width) * (this.curves.count - 1)));
  }

  key(event) {
    const last = this.curves.count - 1;
    const at = this.at === null ? last : this.at;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, ArrowDown: at - 1, ArrowUp: at + 1, Home: 0, End: last, PageDown: at - 10, PageUp: at + 10, Escape: null }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.move(to);
  }

  move(at) {
    if (!this.curves) return;
    this.at = at === null ? null : Math.min(Math.max(at, 0), this.curves.count - 1);
    this.show(this.curves);
  }

  total(at) {
    const there = this.curves.series.map((series) => series[this.name][at]).filter((value) => value !== null);
    return there.length ? there.reduce((sum, value) => sum + value, 0) : null;
  }

  show(curves) {
    this.curves = curves;
    const totals = Array.from({ length: curves.count }, (_, at) => this.total(at));
    const peak = ceiling(Math.max(...totals.map((value) => value || 0)));
    const x = (at) => ((at / (curves.count - 1)) * WIDTH).toFixed(1);
    const y = (value) => (HEIGHT - (value / peak) * HEIGHT).toFixed(1);
    const floor = new Array(curves.count).fill(0);
    const parts = [el("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }), el("line", { class: "grid", x1: 0, x2: WIDTH, y1: 0, y2: 0 })];
    curves.series.forEach((series, position) => {
      for (const [from, to] of runs(series[this.name])) {
        const lower = [];
        const upper = [];
        for (let at = from; at <= to; at += 1) {
          lower.unshift(`${x(at)} ${y(floor[at])}`);
          floor[at] += series[this.name][at];
          upper.push(`${x(at)} ${y(floor[at])}`);
        }
        const name = colour(series, position);
        parts.push(el("path", { class: `area ${name}`, d: `M${upper.join("L")}L${lower.join("L")}Z` }), el("path", { class: `edge ${name}`, d: `M${upper.join("L")}` }));
      }
    });
    if (this.at !== null) parts.push(el("line", { class: "cursor", x1: x(this.at), x2: x(this.at), y1: 0, y2: HEIGHT }));
    this.svg.replaceChildren(...parts);
    write(this.top, `${this.format(peak)}${this.unit}`);
    write(this.axis.firstChild, clock(curves.since));
    write(this.axis.lastChild, clock(curves.since + (curves.count - 1) * curves.step_s));
    this.tell(totals);
  }

  tell(totals) {
    let at = this.at;
    if (at === null) for (at = totals.length - 1; at > 0 && totals[at] === null;) at -= 1;
    const value = `${this.format(totals[at])}${totals[at] === null ? "" : this.unit}`;
    const each = this.at === null || this.curves.series.length < 2 ? "" : ` (${this.curves.series.map((series) => this.format(series[this.name][at])).join(" + ")})`;
    const when = clock(this.curves.since + at * this.curves.step_s);
    write(this.told, this.at === null ? value : `${when}  ${value}${each}`);
    this.plot.setAttribute("aria-valuemax", this.curves.count - 1);
    this.plot.setAttribute("aria-valuenow", at);
    this.plot.setAttribute("aria-valuetext", `${when}: ${value}${each}`);
  }
}

function ceiling(value) {  // the next higher round number
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value * 0.999);
}

function runs(curve) {  // [first, last] of each stretch without a gap
  const found = [];
  curve.forEach((value, at) => {
    if (value === null) return;
    if (at && curve[at - 1] !== null) found[found.length - 1][1] = at;
    else found.push([at, at]);
  });
  return found;
}

export const charts = [
  new Chart("pages", "Pages", "/s", rate), new Chart("pending", "Pending", "", (value) => count(value === null ? null : Math.round(value))),
  new Chart("errors", "Failures", "/min", rate), new Chart("bytes", "Bytes", "/s", bytes),
];

export function showFigures(curves) {
  if (!$("figures").open || !curves) return;
  const { series, since, step_s: step, count: moments } = curves;
  const head = el("tr", {}, el("th", { scope: "col" }, "Time"), el("th", { scope: "col" }, "Machine"),
    ...charts.map((chart) => el("th", { scope: "col", class: "n" }, `${chart.title}${chart.unit}`)));
  const rows = [];
  for (let at = moments - 1; at >= Math.max(0, moments - 12); at -= 1) {
    series.forEach((each) => rows.push(el("tr", {}, el("td", {}, clock(since + at * step)), el("th", { scope: "row" }, each.name),
      ...charts.map((chart) => number(chart.format(each[chart.name][at]))))));
  }
  $("figures-table").replaceChildren(el("caption", { class: "unseen" }, "The last moments of the curves, by machine"), el("thead", {}, head), el("tbody", {}, ...rows));
}
