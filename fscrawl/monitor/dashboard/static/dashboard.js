// The dashboard's page. All paths are relative to it, since it may be at a sub-path of a reverse proxy. `fscrawl report`
// puts this script and its answers into one file.

// -- Numbers and times, as people read them.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const count = (value) => (value === null || value === undefined ? "–" : value < 1e6 ? whole.format(value) : short.format(value));
const rate = (value) => (value === null || value === undefined ? "–" : value < 100 ? value.toFixed(1) : count(Math.round(value)));

function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

function lasting(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

const clock = (at, over_s = 0) => { const date = new Date(at * 1000); return over_s > 86400 ? date.toLocaleString("en-GB") : date.toLocaleTimeString("en-GB"); };

// A time to come, with how far away it is.
const moment = (at, now) => (at <= now ? "now" : `${clock(at)}, in ${lasting(at - now)}`);

// A host directory as people write its host, as urls.shown_host does.
const spoken = (host) => host.replace(/(?<=.)_(\d+)$/, ":$1");
const numberOf = (value, noun, plural = `${noun}s`) => `${count(value)} ${value === 1 ? noun : plural}`;

// -- Making and updating elements. What comes from the server is put there as text; nothing is ever parsed as HTML.


const $ = (id) => document.getElementById(id);

function el(name, attributes = {}, ...children) {
  const made = name === "svg" || name === "path" || name === "line"
    ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const number = (text) => el("td", { class: "n" }, text);

function write(node, text) {  // only if it is new, so that a screen reader does not read the same text again
  if (node.textContent !== text) node.textContent = text;
}

const retitle = (state) => {
  document.title = [document.querySelector("header nav [aria-current]")?.textContent, state, "fscrawl"].filter(Boolean).join(" · ");
};

// Give `parent` one child for each row. A child with the same key is kept, so that focus and selection stay.
function keyed(parent, rows, keyOf, make) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  rows.forEach((row, position) => {
    const key = String(keyOf(row));
    const fresh = make(row);
    fresh.dataset.key = key;
    let child = there.get(key);
    there.delete(key);
    if (!child) child = fresh;
    else morph(child, fresh);
    if (parent.children[position] !== child) parent.insertBefore(child, parent.children[position] || null);
  });
  for (const gone of there.values()) gone.remove();
}

function morph(old, fresh) {  // listeners are not copied: they belong to an element above the rows
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName) { old.replaceWith(fresh); return; }
  if (old.nodeType === Node.TEXT_NODE) { old.data = fresh.data; return; }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const wanted = [...fresh.childNodes];
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
  wanted.forEach((child, position) => (old.childNodes[position] ? morph(old.childNodes[position], child) : old.append(child)));
}

// The links to the pages before and after in a table. `instead`: gets the focus of a link that is gone.
function pager(nav, facts, to, instead = null) {
  const focused = nav.contains(document.activeElement);
  const step = (page, text, name) => (page >= 0 && page < facts.pages ? el("a", { href: to(page), rel: name }, text) : el("span", { class: "quiet" }, text));
  const fresh = el("nav", {}, step(facts.page - 1, "‹ Earlier", "prev"), el("span", {}, `page ${facts.page + 1} of ${count(facts.pages)}`), step(facts.page + 1, "Later ›", "next"));
  nav.hidden = facts.pages < 2;
  [...fresh.childNodes].forEach((child, position) => (nav.childNodes[position] ? morph(nav.childNodes[position], child) : nav.append(child)));
  if (focused && !nav.contains(document.activeElement)) (nav.querySelector("a") || instead)?.focus();
}

// -- what the page asks the server: answers, streams of events, and control


const token = (() => {  // removed from the address at once, since people copy addresses and keep them
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem("token", given[1]);
    history.replaceState(null, "", "#overview");
  }
  return sessionStorage.getItem("token");
})();

async function ask(path, options = {}) {
  if (frozen) return frozenAnswer(path);
  const answer = await fetch(path, options);
  const facts = answer.headers.get("content-type").startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(facts.error || (await answer.text()).trim());
  return facts;
}

async function control(verb, given = {}) {
  try {
    const headers = { "x-fscrawl-token": token };
    say((await ask(`control/${verb}`, { method: "POST", headers, body: JSON.stringify(given) })).done);
  } catch (error) {
    say(error.message);
  }
}

function say(text) {
  $("message").hidden = !text;
  write($("message"), text);
}

function trouble(text) {
  $("trouble").hidden = !text;
  write($("trouble"), text);
}

// -- a report: the same page with its answers in it, and no server

const frozen = JSON.parse($("frozen")?.textContent || "null");

function frozenAnswer(path) {
  const [name, given] = path.split("?");
  return name === "events/hosts" ? frozenHosts(new URLSearchParams(given)) : { events: frozen.state, "api/errors": frozen.errors }[name];
}

function frozenHosts(given) {  // as the server does it
  const [text, sort, only] = [given.get("q").trim().toLowerCase(), given.get("sort"), given.get("only")];
  const found = frozen.hosts.rows.filter((row) => row.spoken.toLowerCase().includes(text) && (!only || (only === "held" ? row.held : row.pending)));
  const [there, without] = [found.filter((row) => row[sort] !== null && row[sort] !== undefined), found.filter((row) => row[sort] === null || row[sort] === undefined)];
  there.sort((a, b) => (a[sort] < b[sort] ? -1 : a[sort] > b[sort] ? 1 : 0));
  if (given.get("order") === "down") there.reverse();
  const page = Number(given.get("page"));
  return { ...frozen.hosts, found: found.length, page, pages: Math.max(1, Math.ceil(found.length / 50)), rows: [...there, ...without].slice(50 * page, 50 * page + 50) };
}

// A link to a stored page, which a report does not have.
const linked = (href, attributes, text) => (frozen ? el("span", {}, text) : el("a", { href, ...attributes }, text));

const address = (path, given) => `${path}?${new URLSearchParams(given)}`;
const pageAddress = (row) => (row.host ? address("#pages", { host: row.host, key: row.key }) : address("#pages", { url: row.url }));

const streams = {};  // by name; closed while the page is hidden, since a browser opens only six connections to a host

function listen(name, path, kind, show) {
  if (frozen) return path && show(frozenAnswer(path));
  streams[name]?.source?.close();
  delete streams[name];
  if (!path) return;
  const stream = { path, kind, show, source: null };
  streams[name] = stream;
  if (!document.hidden) open(stream);
}

function open(stream) {
  const source = new EventSource(stream.path);
  stream.source = source;
  source.addEventListener(stream.kind, (event) => { trouble(""); write($("live"), "live"); stream.show(JSON.parse(event.data)); });
  source.addEventListener("trouble", (event) => trouble(`The tree cannot be read: ${JSON.parse(event.data).error}`));
  source.onerror = () => {
    write($("live"), "connection lost; trying again");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (stream.source === source) open(stream); }, 3000);
  };
}

document.addEventListener("visibilitychange", () => {
  for (const stream of Object.values(streams)) {
    stream.source?.close();
    if (!document.hidden) open(stream);
  }
});

// Show what the address asks for, though it has not changed, or was changed without a new entry in the history.
const routeAgain = () => window.dispatchEvent(new Event("hashchange"));

// -- The curves of the overview, and the same numbers as a table.


const colour = (series, position) => (series.name.endsWith(" others") ? "rest" : `c${position}`);

const lasts = (curves) => curves.count * curves.step_s;
const WIDTH = 600;
const HEIGHT = 100;

class Chart {
  constructor(name, title, unit, format) {
    Object.assign(this, { name, title, unit, format, curves: null, at: null });
    this.svg = el("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    this.top = el("span", { class: "top" });
    this.output = el("output");
    this.axis = el("div", { class: "axis", "aria-hidden": "true" }, el("span"), el("span"));
    this.plot = el("div", { class: "plot", tabindex: "0", role: "slider", "aria-label": `${title}, a moment`, "aria-valuemin": "0" }, this.svg, this.top);
    this.plot.addEventListener("pointermove", (event) => this.point(event));
    this.plot.addEventListener("pointerleave", () => this.move(null));
    this.plot.addEventListener("blur", () => this.move(null));
    this.plot.addEventListener("keydown", (event) => this.key(event));
    $("charts").append(el("figure", {}, el("figcaption", {}, el("b", {}, title), this.output), this.plot, this.axis));
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
    write(this.axis.firstChild, clock(curves.since, lasts(curves)));
    write(this.axis.lastChild, clock(curves.since + (curves.count - 1) * curves.step_s, lasts(curves)));
    this.describe(totals);
  }

  describe(totals) {
    let at = this.at;
    if (at === null) for (at = totals.length - 1; at > 0 && totals[at] === null;) at -= 1;
    const value = `${this.format(totals[at])}${totals[at] === null ? "" : this.unit}`;
    const each = this.at === null || this.curves.series.length < 2 ? "" : ` (${this.curves.series.map((series) => this.format(series[this.name][at])).join(" + ")})`;
    const when = clock(this.curves.since + at * this.curves.step_s, lasts(this.curves));
    write(this.output, this.at === null ? value : `${when}  ${value}${each}`);
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

const charts = [
  new Chart("pages", "Pages", "/s", rate), new Chart("pending", "Pending", "", (value) => count(value === null ? null : Math.round(value))),
  new Chart("errors", "Failures", "/min", rate), new Chart("bytes", "Bytes", "/s", bytes),
];

function showFigures(curves) {
  if (!$("figures").open || !curves) return;
  const { series, since, step_s: step, count: moments } = curves;
  const head = el("tr", {}, el("th", { scope: "col" }, "Time"), el("th", { scope: "col" }, "Machine"),
    ...charts.map((chart) => el("th", { scope: "col", class: "n" }, `${chart.title}${chart.unit}`)));
  const rows = [];
  for (let at = moments - 1; at >= Math.max(0, moments - 12); at -= 1) {
    series.forEach((each) => rows.push(el("tr", {}, el("td", {}, clock(since + at * step, lasts(curves))), el("th", { scope: "row" }, each.name),
      ...charts.map((chart) => number(chart.format(each[chart.name][at]))))));
  }
  $("figures-table").replaceChildren(el("caption", { class: "unseen" }, "The last moments of the curves, by machine"), el("thead", {}, head), el("tbody", {}, ...rows));
}

// -- The overview: totals, machines, errors, hosts that are slow or fail, signs.


let state = null;
const mood = { running: "good", finished: "good", pausing: "warn", paused: "warn", stopping: "warn", stopped: "bad" };

function showState(facts) {
  state = facts;
  write($("state"), facts.state);
  $("state").className = `pill ${mood[facts.state] || "quiet"}`;
  $("state").title = facts.meaning;
  retitle(facts.state);
  write($("about"), `${facts.root} · crawl ${facts.crawl}${facts.control && token ? "" : frozen ? "" : " · read-only"} ·`);
  $("control").hidden = $("seed").hidden = !(facts.control && token);
  if (frozen) write($("live"), `report of ${new Date(facts.now * 1000).toLocaleString("en-GB")}`);
  showTiles(facts);
  showLabels(Object.entries(facts.labels));
  showNotes(facts);
  showMachines(facts);
  keyed($("errors"), Object.entries(facts.errors), (row) => row[0], ([name, n]) => el("tr", {}, el("td", {}, name), number(count(n))));
  showWorst(facts);
  keyed($("signs"), facts.signs.length ? facts.signs : [""], String, sign);
  charts.forEach((chart) => chart.show(facts.curves));
  showFigures(facts.curves);
}

function showTiles(totals) {
  const errors = Object.values(totals.errors).reduce((sum, n) => sum + n, 0);
  const ends = totals.ends_in_s === null ? "" : `done in about ${lasting(totals.ends_in_s)}`;
  const tiles = [
    ["Pages", count(totals.pages), totals.exact ? "" : "at least: a machine died"],
    ["Pages/s", rate(totals.pages_per_s["1 min"]), `${rate(totals.pages_per_s["5 min"])} in 5 min · ${rate(totals.pages_per_s["60 min"])} in 1 h`],
    ["Pending", totals.pending === null ? "?" : `${totals.roughly}${count(totals.pending)}`, totals.pending === null ? "hosts are being taken over" : ends || `${count(totals.in_flight)} in flight`],
    ["Failures", count(errors), totals.pages ? `${((100 * errors) / (totals.pages + errors)).toFixed(1)} % of all` : ""],
    ["Stored", bytes(totals.bytes), `${bytes(totals.bytes_per_s)}/s`],
    ["Free on disk", bytes(totals.free_bytes), ""],
  ];
  keyed($("tiles"), tiles, (tile) => tile[0], ([name, value, more]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value, el("small", {}, more))));
}

function showNotes(facts) {
  const notes = [];
  if (facts.settings_trouble) notes.push(`${facts.settings_trouble}. The machines keep the last valid settings.`);
  const others = facts.machines.filter((machine) => machine.settings_differ).length;
  if (others) notes.push(`${others} machines do not use the newest crawl.toml yet.`);
  $("notes").hidden = !notes.length;
  write($("notes"), notes.join(" "));
}

function showLabels(labels) {
  const known = (value) => number(value === null ? "?" : count(value));
  const state = (row) => (row.stopped ? "stopped" : row.pending === 0 ? "done" : "");
  $("labels").hidden = !labels.length;
  keyed($("labels-rows"), labels, (row) => row[0], ([label, row]) => el("tr", {},
    el("th", { scope: "row", class: "label" }, label), known(row.found), known(row.stored), known(row.failed), known(row.pending),
    el("td", { class: { done: "good", stopped: "warn" }[state(row)] || null }, state(row))));
}

function showMachines(facts) {
  keyed($("machines"), facts.machines, (row) => row.name, (row) => {
    const here = row.state === "alive";
    const swatch = row.colour === null ? "swatch none" : `swatch c${row.colour}`;
    const beat = here ? `${Math.max(0, facts.now - row.beat_at).toFixed(0)} s ago` : new Date(row.beat_at * 1000).toLocaleString("en-GB");
    return el("tr", { class: here ? "" : "quiet" },
      el("th", { scope: "row" }, el("span", { class: swatch, "aria-hidden": "true" }), row.name),
      el("td", { class: { alive: "good", dead: "bad" }[row.state] || "" }, row.doing ? `${row.state}, ${row.doing}` : row.state),
      number(rate(here ? row.pages_per_s : null)), number(count(row.pages)), number(bytes(row.bytes)), number(count(row.errors)),
      number(here ? count(row.pending) : "–"), number(here ? count(row.in_flight) : "–"), number(here ? bytes(row.memory) : "–"), number(beat));
  });
  $("unlisted").hidden = !facts.unlisted;
  write($("unlisted"), `and ${facts.unlisted} more that left or died`);
}

function showWorst(facts) {
  const rows = new Map();
  for (const [host, seconds] of Object.entries(facts.slow)) rows.set(host, { host, seconds });
  for (const [host, failures] of Object.entries(facts.failing)) rows.set(host, { ...(rows.get(host) || { host }), failures });
  keyed($("worst"), rows.size ? [...rows.values()] : [{ host: "" }], (row) => row.host, (row) => el("tr", {},
    el("td", {}, row.host ? linked(address("#pages", { host: row.host }), {}, spoken(row.host)) : "none now"),
    number(row.seconds === undefined ? "" : `${row.seconds.toFixed(1)} s`), number(row.failures === undefined ? "" : count(row.failures))));
}

function sign(name) {
  if (!name) return el("li", { class: "quiet" }, "none");
  const host = name.startsWith("PAUSE.") ? name.slice(6) : null;
  const meaning = host ? `nothing is fetched from ${spoken(host)}` : name === "PAUSE" ? "machines fetch nothing" : "all machines leave";
  const again = !$("control").hidden && host && el("button", { type: "button", "data-verb": "resume", "data-host": host }, "Resume");
  return el("li", {}, el("code", {}, name), `${meaning} `, again || null);
}

async function showExamples() {
  try {
    const facts = await ask("api/errors");
    const classes = Object.entries(facts.classes).sort();
    $("examples").replaceChildren(...classes.flatMap(([name, rows]) => [el("h4", {}, name),
      el("ul", {}, ...rows.map((row) => el("li", {}, linked(pageAddress(row), {}, row.shown || row.url), ` – ${row.message}`)))]),
    el("p", { class: "quiet" }, classes.length ? `from ${count(facts.looked)} failures, chosen at random` : "there are no failures"));
    write($("examples-status"), classes.length ? `examples of ${numberOf(classes.length, "class", "classes")} of failures` : "there are no failures");
    if (!frozen) write($("show-examples"), "Other examples");
  } catch (error) {
    $("examples").replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

// -- A table of which the server sorts, searches and cuts the rows. The address of the view says what is shown.


const AGAIN_MS = 5000;  // "in 35 s" grows old, though nothing has changed

class Table {
  // name      of the section, of the table at the server, and of the view
  // columns   { text, sort: its name at the server, number: to the right, first: in descending order, act: buttons }
  // parts     [value, text] of what may be shown alone; the first one is all
  // keyOf, row, summary      of a row: its key, its element; of all facts: the line above the table
  constructor(name, { columns, parts, sort, order, search, caption, keyOf, row, summary }) {
    Object.assign(this, { name, columns, keyOf, row, summary, caption, first: { q: "", sort, order, only: "", page: 0 } });
    this.asked = { ...this.first };
    this.facts = null;
    this.statusOf = "";
    this.build(parts, search);
  }

  build(parts, search) {
    const { name } = this;
    const id = (part) => `${name}-${part}`;
    this.q = el("input", { id: id("q"), type: "search", placeholder: search, autocomplete: "off", spellcheck: "false" });
    this.only = el("select", { id: id("only") }, ...parts.map(([value, text]) => el("option", { value }, text)));
    this.form = el("form", { id: id("form"), class: "line", role: "search", "aria-labelledby": id("title") },
      el("label", { for: id("q"), class: "unseen" }, search), this.q,
      el("label", { for: id("only"), class: "unseen" }, "Which"), this.only, el("button", {}, "Search"));
    this.head = el("tr", { id: id("head") }, ...this.columns.map((column) => el("th", { scope: "col", "data-sort": column.sort || null, class: column.act ? "act" : column.number ? "n" : null },
      column.sort ? el("button", { type: "button" }, column.text) : el("span", { class: column.act ? "unseen" : null }, column.text))));
    this.line = el("p", { id: id("count"), class: "quiet" });
    this.status = el("p", { id: id("status"), class: "unseen", role: "status" });
    this.rows = el("tbody", { id: id("rows") });
    this.nav = el("nav", { id: id("pager"), class: "pager", "aria-label": "Pages of the table", hidden: true });
    this.scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": this.caption },
      el("table", {}, el("caption", { class: "unseen" }, this.caption), el("thead", {}, this.head), this.rows));
    $(name).querySelector("h2").after(this.line, this.status, this.scroll, this.nav);
    this.line.before(el("div", { class: "bar" }, $(name).querySelector("h2"), this.form));
    this.form.addEventListener("submit", (event) => { event.preventDefault(); this.search(); });
    let typing = 0;
    this.q.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => this.search(), 250); });
    this.only.addEventListener("change", () => this.search());
    this.head.addEventListener("click", (event) => this.sort(event.target.closest("[data-sort]")?.dataset.sort));
    setInterval(() => { if (this.facts && !$(name).hidden && !document.hidden) this.draw(); }, AGAIN_MS);
  }

  address(more = {}) {
    const asked = Object.entries({ ...this.asked, ...more }).filter(([name, value]) => String(value) !== String(this.first[name]));
    return asked.length ? address(`#${this.name}`, asked) : `#${this.name}`;
  }

  open(given) {
    const asked = Object.fromEntries(Object.entries(this.first).map(([name, value]) => [name, given.get(name) || value]));
    if (!this.columns.some((column) => column.sort === asked.sort)) asked.sort = this.first.sort;
    if (![...this.only.options].some((option) => option.value === asked.only)) asked.only = "";
    this.asked = { ...asked, page: Number(asked.page) || 0 };
    if (document.activeElement !== this.q) this.q.value = this.asked.q;
    this.only.value = this.asked.only;
    for (const cell of this.head.querySelectorAll("[data-sort]")) {
      if (cell.dataset.sort === this.asked.sort) cell.setAttribute("aria-sort", this.asked.order === "down" ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    listen(this.name, address(`events/${this.name}`, this.asked), this.name, (facts) => {
      this.facts = facts;
      this.came = performance.now();
      this.draw();
    });
  }

  close() {
    listen(this.name, null);
  }

  search() {
    history.replaceState(null, "", this.address({ q: this.q.value, only: this.only.value, page: 0 }));
    routeAgain();
  }

  sort(column) {
    if (!column) return;
    const first = this.columns.find((each) => each.sort === column).number ? "down" : "up";
    const order = this.asked.sort === column ? { up: "down", down: "up" }[this.asked.order] : first;
    location.hash = this.address({ sort: column, order, page: 0 });
  }

  draw() {
    const now = this.facts.now + (performance.now() - this.came) / 1000;
    write(this.line, this.summary(this.facts));
    const width = this.columns.length;
    const rows = this.facts.rows.length ? this.facts.rows : [null];
    keyed(this.rows, rows, (row) => (row ? `row ${this.keyOf(row)}` : ""), (row) => (row ? this.row(row, now) : el("tr", {}, el("td", { colspan: width, class: "quiet" }, "nothing to show"))));
    pager(this.nav, this.facts, (page) => this.address({ page }), this.scroll);
    this.say();
  }

  say() {  // aloud, only what somebody has asked for, and not each number that changes
    const asked = JSON.stringify(this.asked);
    if (this.statusOf && this.statusOf !== asked) write(this.status, `${count(this.facts.found)} found; shown from number ${count(50 * this.facts.page + 1)} on`);
    this.statusOf = asked;
  }
}

// -- The table of hosts: what is stored of each, how it is asked, and why it is left alone.


function hostsSummary(facts) {
  return `${count(facts.found)} of ${numberOf(facts.hosts, "host")}${facts.held ? `; ${count(facts.held)} held back now` : ""}`;
}

function hostRow(host, now) {
  const paused = state !== null && state.signs.includes(`PAUSE.${host.host}`);
  const verb = paused ? "resume" : "pause";
  const mine = Boolean(state && state.control && token);
  const button = mine && el("button", { type: "button", "data-verb": verb, "data-host": host.host, "aria-label": `${verb} ${host.spoken}` }, paused ? "Resume" : "Pause");
  const why = paused ? "paused by a sign" : host.why || "";
  const delay = host.delay_s === undefined ? "" : `${host.delay_s < 10 ? Number(host.delay_s.toFixed(1)) : Math.round(host.delay_s)} s`;
  return el("tr", {},
    el("th", { scope: "row" }, linked(address("#pages", { host: host.host }), {}, host.spoken)),
    number(count(host.records)),
    el("td", { class: "n" }, host.failures ? linked(address("#pages", { host: host.host, list: "failures" }), { "aria-label": `${count(host.failures)} failures of ${host.spoken}` }, count(host.failures)) : count(host.failures)),
    number(host.pending === undefined ? "" : count(host.pending)),
    el("td", { class: "words" }, delay, host.set_by ? el("small", {}, ` ${host.set_by}`) : null),
    el("td", { class: paused || host.held ? "words warn" : "words" }, why),
    number(host.until ? moment(host.until, now) : ""),
    el("td", { class: "act" }, button || ""));
}

const hosts = new Table("hosts", {
  columns: [
    { text: "Host", sort: "host" }, { text: "Records", sort: frozen && "records", number: true }, { text: "Failures", sort: frozen && "failures", number: true },
    { text: "Pending", sort: "pending", number: true }, { text: "Delay" }, { text: "Now" }, { text: "Until", sort: "until", number: true }, { text: "Actions", act: true },
  ],
  parts: [["", "all hosts"], ["held", "held back"], ["pending", "with pending URLs"]],
  sort: frozen ? "records" : "pending", order: "down", search: "part of a host name",
  caption: "Hosts: what is stored, what is pending, and why a host is asked nothing now",
  keyOf: (host) => host.host, row: hostRow, summary: hostsSummary,
});

document.body.addEventListener("click", (event) => {
  const { verb, host } = event.target.dataset || {};
  if (verb && host) control(verb, { hosts: [host] });
});

// -- Stored pages: lists of a host's, and one page with its record, its links and its body.


function openPages(given) {
  const [url, host, key] = ["url", "host", "key"].map((name) => given.get(name) || "");
  $("pages-q").value = url || (key ? "" : spoken(host));
  const found = $("pages-found");
  write($("pages-status"), "");
  if (url || key) return showPage(key ? { host, key } : { url });
  if (host) return showList(host, given.get("list") || "pages", Number(given.get("page") || 0));
  return found.replaceChildren(el("p", { class: "quiet" }, "A URL leads to its page, in any spelling. A host leads to the list of its pages."));
}

$("pages-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const q = $("pages-q").value.trim();
  const to = q.includes("/") ? { url: q } : { host: q };
  if (address("#pages", to) === location.hash) routeAgain();
  else location.hash = address("#pages", to);
});

const outcome = (row) => (row.class ? row.class : row.kind === "page" ? String(row.status) : `${row.status} ${row.kind}`);

function pageRow(row) {
  return el("tr", {}, el("td", { class: "url" }, el("a", { href: pageAddress(row) }, row.shown || row.url), el("small", {}, row.title || row.message || "")),
    el("td", {}, outcome(row)), number(row.class ? "–" : bytes(row.bytes)), el("td", {}, row.at.slice(0, 19).replace("T", " ")));
}

function pageTable(label) {
  const body = el("tbody");
  const heads = ["URL", "Outcome", "Bytes", "When (UTC)"].map((text) => el("th", { scope: "col", class: text === "Bytes" ? "n" : false }, text));
  return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", {}, el("caption", { class: "unseen" }, label), el("thead", {}, el("tr", {}, ...heads)), body)), body];
}

async function showList(host, list, page) {
  const found = $("pages-found");
  try {
    const facts = await ask(address("api/pages", { host, list, page }));
    const [table, body] = pageTable(`${list} of ${spoken(host)}`);
    const nav = el("nav", { class: "pager", "aria-label": "Pages of the table" });
    body.append(...facts.rows.map(pageRow));
    pager(nav, facts, (to) => address("#pages", { host, list, page: to }));
    const other = list === "pages" ? "failures" : "pages";
    found.replaceChildren(el("h3", { class: "title" }, `${spoken(host)}: ${count(facts.found)} ${list}`),
      el("p", { class: "where" }, el("a", { href: address("#pages", { host, list: other }) }, `Show its ${other}`)), table, nav);
    write($("pages-status"), `${numberOf(facts.found, list === "pages" ? "page" : "failure")} of ${spoken(host)}; shown from number ${count(50 * page + 1)} on`);
  } catch (error) {
    found.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

async function showPage(given) {
  const found = $("pages-found");
  try {
    const facts = await ask(address("api/page", given));
    const record = facts.record || {};
    $("pages-q").value = facts.url || "";
    found.replaceChildren(
      el("h3", { class: "title" }, record.title || facts.shown || facts.url || facts.key),
      el("p", { class: "where" }, ...facts.shown ? [facts.shown] : [facts.url ? el("a", { href: facts.url, rel: "noopener noreferrer", target: "_blank" }, facts.url) : "", " (opens the page as it is on the web now)"]),
      ...facts.damages.map((text) => el("p", { class: "bad" }, `A file of this page is damaged: ${text}`)),
      ...(facts.error ? [el("h3", {}, "Failure"), factsOf(facts.error)] : []),
      ...(facts.record ? [el("h3", {}, "Record"), factsOf(record)] : []),
      ...linksOf(facts), ...(facts.has_body ? bodyOf(facts) : []));
    write($("pages-status"), `found: ${record.title || facts.shown || facts.url || facts.key}`);
  } catch (error) {
    found.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

const LISTS = ["links", "nofollow", "sitemaps"];

function factsOf(record) {
  const list = el("dl", { class: "facts" });
  for (const [name, value] of Object.entries(record)) {
    if (LISTS.includes(name) || name === "headers" || name === "url" || name === "title") continue;
    const text = name === "bytes" ? `${whole.format(value)}` : Array.isArray(value) ? value.join(", ") : String(value);
    const to = { redirect: { url: value }, canonical: { url: value } }[name];
    list.append(el("dt", {}, name), el("dd", {}, to ? el("a", { href: address("#pages", to) }, text) : text || "–"));
  }
  const lines = Object.entries(record.headers || {}).flatMap(([name, value]) => value.split("\n").map((line) => `${name}: ${line}`));
  const headers = lines.map((line) => el("div", {}, el("code", {}, line)));
  if (headers.length) list.append(el("dt", {}, "headers"), el("dd", {}, el("details", {}, el("summary", {}, `${headers.length} headers`), ...headers)));
  return list;
}

function linksOf(facts) {
  const known = facts.record || facts.error;
  const made = [];
  for (const name of LISTS) {
    const links = (facts.record && facts.record[name]) || [];
    const title = { links: "Links out", nofollow: "Links out, nofollow", sitemaps: "Sitemaps" }[name];
    if (!links.length) continue;
    const items = links.map((url) => el("li", {}, el("a", { href: address("#pages", { url }) }, url)));
    made.push(el("h3", {}, `${title}: ${count(links.length)}`), el("ol", { class: "list" }, ...items.slice(0, 50)));
    if (items.length > 50) made.push(el("details", {}, el("summary", {}, `${count(items.length - 50)} more`), el("ol", { class: "list", start: 51 }, ...items.slice(50))));
  }
  if (!known) return made;
  const from = facts.referrer;
  const first = from ? from.url ? el("a", { href: pageAddress(from) }, from.shown || from.url) : `a page on another host; its key is ${from.key}` : "the seeds, or a sitemap";
  return [...made, el("h3", {}, "First found on"), el("p", { class: "where" }, first)];
}

function bodyOf(facts) {
  const frame = el("iframe", { sandbox: "", referrerpolicy: "no-referrer", title: "The stored page" });
  const ways = [["page", "As a page"], ["text", "As text"], ["source", "Source"], ...(facts.has_dom ? [["answer", "Source before scripts"]] : [])];
  const buttons = ways.map(([way, text]) =>
    el("button", { type: "button", "aria-pressed": "false", onclick: (event) => show(way, event.target) }, text));
  const show = (way, pressed) => {
    frame.src = address(`body/${facts.host}/${facts.key}`, { as: way });
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === pressed));
  };
  show("page", buttons[0]);
  return [el("div", { class: "bar" }, el("h3", {}, "Stored body"), ...buttons),
    el("p", { class: "quiet" }, "Shown without scripts, images and style sheets. Its links do not work."), frame];
}

// -- Which of the views is shown, and what the buttons do.


// All views, in the order of the navigation. A new one is one line here, and a <section> with an <h2> in index.html.
const VIEWS = {
  overview: { title: "Overview" },
  hosts: { title: "Hosts", open: (given) => hosts.open(given), close: () => hosts.close() },
  ...(!frozen && { pages: { title: "Pages", open: openPages } }),
};

const links = Object.fromEntries(Object.entries(VIEWS).map(([name, view]) => [name, el("a", { href: `#${name}` }, view.title)]));
document.querySelector("header nav").append(...Object.values(links));

function route() {
  const [name, given] = location.hash.slice(1).split(/\?(.*)/s);
  const view = Object.hasOwn(VIEWS, name) ? name : "overview";
  const moved = $(view).hidden;
  const followed = moved && document.activeElement.closest("main section");  // a link in the content, which will be hidden
  for (const each of Object.keys(VIEWS)) {
    $(each).hidden = each !== view;
    if (each === view) links[each].setAttribute("aria-current", "page"); else links[each].removeAttribute("aria-current");
    if (each !== view) VIEWS[each].close?.();
  }
  retitle(state?.state);
  if (moved) scrollTo(0, 0);
  VIEWS[view].open?.(new URLSearchParams(given));
  if (followed) {
    const heading = $(view).querySelector("h2");
    heading.tabIndex = -1;
    heading.focus();
  }
}

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
$("control").addEventListener("click", (event) => {
  const { verb } = event.target.dataset;
  if (verb === "stop" && !confirm("Stop all machines? Pages that are being fetched are finished first.")) return;
  if (verb) control(verb);
});
$("seed").addEventListener("submit", async (event) => { event.preventDefault(); await control("seed", { url: $("seed-url").value }); $("seed-url").value = ""; });
$("show-examples").addEventListener("click", showExamples);
$("figures").addEventListener("toggle", () => showFigures(state?.curves));
$("window").addEventListener("change", (event) => listen("state", address("events", { window: event.target.value }), "state", showState));
window.addEventListener("hashchange", route);
if (frozen) $("pages").remove();
$("window").hidden = $("metrics").hidden = Boolean(frozen);
listen("state", "events?window=10min", "state", showState);
route();
