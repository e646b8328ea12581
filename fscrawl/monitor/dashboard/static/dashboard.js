// The dashboard's page. What comes from the server is text and is put there as text; nothing is ever parsed as HTML.
"use strict";

// -- elements

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

function write(node, text) {  // only what is new, so that a screen reader is not told the same again
  if (node.textContent !== text) node.textContent = text;
}

// Make the children of `parent` those of `rows`: kept where the key is the same, so that focus and selection stay.
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

function morph(old, fresh) {  // listeners are not carried over: they sit above, where the rows are
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName) { old.replaceWith(fresh); return; }
  if (old.nodeType === Node.TEXT_NODE) { old.data = fresh.data; return; }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const wanted = [...fresh.childNodes];
  while (old.childNodes.length > wanted.length) old.lastChild.remove();
  wanted.forEach((child, position) => (old.childNodes[position] ? morph(old.childNodes[position], child) : old.append(child)));
}

// -- numbers, as people read them

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

const clock = (at) => new Date(at * 1000).toLocaleTimeString("en-GB");

// -- the server

const token = (() => {  // it came with the address, and should not stay there: addresses are copied and kept
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem("token", given[1]);
    history.replaceState(null, "", "#overview");
  }
  return sessionStorage.getItem("token");
})();

async function ask(path, options = {}) {
  const answer = await fetch(path, options);
  const facts = answer.headers.get("content-type").startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(facts.error || (await answer.text()).trim());
  return facts;
}

async function control(verb, given = {}) {
  try {
    const headers = { "content-type": "application/json", "x-fscrawl-token": token };
    say((await ask(`/control/${verb}`, { method: "POST", headers, body: JSON.stringify(given) })).done);
  } catch (error) {
    say(error.message);
  }
}

function say(text) {
  $("said").hidden = !text;
  write($("said"), text);
}

function trouble(text) {
  $("trouble").hidden = !text;
  write($("trouble"), text);
}

const address = (path, given) => `${path}?${new URLSearchParams(given)}`;
const pageAddress = (row) => (row.host ? address("#pages", { host: row.host, key: row.key }) : address("#pages", { url: row.url }));

const streams = {};  // name → what makes it; closed while nobody looks, since a browser has six connections to a host

function listen(name, path, kind, take) {
  streams[name]?.source?.close();
  delete streams[name];
  if (!path) return;
  const stream = { path, kind, take, source: null };
  streams[name] = stream;
  if (!document.hidden) open(stream);
}

function open(stream) {
  const source = new EventSource(stream.path);
  stream.source = source;
  source.addEventListener(stream.kind, (event) => { trouble(""); write($("live"), "live"); stream.take(JSON.parse(event.data)); });
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

// -- the overview

let state = null;
const colour = (series, position) => (series.name.endsWith(" others") ? "rest" : `c${position}`);
const mood = { running: "good", finished: "good", paused: "warn", stopping: "warn", stopped: "bad" };

function showState(facts) {
  state = facts;
  write($("state"), facts.state);
  $("state").className = `pill ${mood[facts.state] || "quiet"}`;
  $("state").title = facts.meaning;
  document.title = `${facts.state} · fscrawl`;
  write($("about"), `${facts.root} · crawl ${facts.crawl}${facts.control && token ? "" : " · read-only"} ·`);
  $("control").hidden = $("seed").hidden = !(facts.control && token);
  showTiles(facts.totals);
  showNotes(facts);
  showMachines(facts);
  keyed($("errors"), facts.errors, (row) => row[0], ([name, n]) => el("tr", {}, el("td", {}, name), number(count(n))));
  showWorst(facts);
  keyed($("signs"), facts.signs.length ? facts.signs : [""], String, sign);
  charts.forEach((chart) => chart.show(facts.curves));
  showFigures();
}

function showTiles(totals) {
  const ends = totals.ends_in_s === null ? "" : `over in about ${lasting(totals.ends_in_s)}`;
  const tiles = [
    ["Pages", count(totals.pages), ""],
    ["Pages/s", rate(totals.rates["1 min"]), `${rate(totals.rates["5 min"])} in 5 min · ${rate(totals.rates["60 min"])} in 1 h`],
    ["Pending", count(totals.pending), ends || `${count(totals.in_flight)} in flight`],
    ["Errors", count(totals.errors), totals.pages ? `${((100 * totals.errors) / (totals.pages + totals.errors)).toFixed(1)} % of all` : ""],
    ["Stored", bytes(totals.bytes), `${bytes(totals.bytes_rate)}/s`],
    ["Free on disk", bytes(totals.free_bytes), ""],
  ];
  keyed($("tiles"), tiles, (tile) => tile[0], ([name, value, more]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value, el("small", {}, more))));
}

function showNotes(facts) {
  const notes = [];
  if (facts.settings_trouble) notes.push(`${facts.settings_trouble}; the machines keep the last good settings.`);
  const others = facts.machines.filter((machine) => machine.other_settings).length;
  if (others) notes.push(`${others} of the machines have not taken up the last edit of crawl.toml.`);
  $("notes").hidden = !notes.length;
  write($("notes"), notes.join(" "));
}

function showMachines(facts) {
  keyed($("machines"), facts.machines, (row) => row.name, (row) => {
    const here = row.state === "alive";
    const swatch = row.colour === null ? "swatch none" : `swatch c${row.colour}`;
    const beat = here ? `${Math.max(0, facts.now - row.beat_at).toFixed(0)} s ago` : new Date(row.beat_at * 1000).toLocaleString("en-GB");
    return el("tr", { class: here ? "" : "quiet" },
      el("th", { scope: "row" }, el("span", { class: swatch, "aria-hidden": "true" }), row.name),
      el("td", { class: { alive: "good", dead: "bad" }[row.state] || "" }, row.doing ? `${row.state}, ${row.doing}` : row.state),
      number(rate(row.rate)), number(count(row.pages)), number(bytes(row.bytes)), number(count(row.errors)),
      number(here ? count(row.pending) : "–"), number(here ? count(row.in_flight) : "–"), number(here ? count(row.hosts) : "–"),
      number(here ? count(row.shards) : "–"), number(here ? bytes(row.memory) : "–"), number(beat));
  });
  $("unlisted").hidden = !facts.unlisted;
  write($("unlisted"), `and ${facts.unlisted} more that are over`);
}

function showWorst(facts) {
  const rows = new Map();
  for (const [host, seconds] of facts.slow) rows.set(host, { host, seconds });
  for (const [host, failures] of facts.failing) rows.set(host, { ...(rows.get(host) || { host }), failures });
  keyed($("worst"), rows.size ? [...rows.values()] : [{ host: "" }], (row) => row.host, (row) => el("tr", {},
    el("td", {}, row.host ? el("a", { href: address("#pages", { host: row.host }) }, row.host.replace(/_(\d+)$/, ":$1")) : "none now"),
    number(row.seconds === undefined ? "" : `${row.seconds.toFixed(1)} s`), number(row.failures === undefined ? "" : count(row.failures))));
}

function sign(name) {
  if (!name) return el("li", { class: "quiet" }, "none");
  const host = name.startsWith("PAUSE.") ? name.slice(6) : null;
  const meaning = host ? `${host} is left alone` : name === "PAUSE" ? "machines fetch nothing" : "machines leave";
  const again = !$("control").hidden && host && el("button", { type: "button", "data-verb": "resume", "data-host": host }, "Resume");
  return el("li", {}, el("code", {}, name), `${meaning} `, again || null);
}

async function showExamples() {
  try {
    const facts = await ask("/api/errors");
    const classes = Object.entries(facts.classes).sort();
    $("examples").replaceChildren(...classes.flatMap(([name, rows]) => [el("h4", {}, name),
      el("ul", {}, ...rows.map((row) => el("li", {}, el("a", { href: pageAddress(row) }, row.url), ` – ${row.message}`)))]),
    el("p", { class: "quiet" }, classes.length ? `out of ${count(facts.looked)} failures, chosen at random` : "no failure is stored"));
    write($("show-examples"), "Other examples");
  } catch (error) {
    $("examples").replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

// -- curves

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

function ceiling(value) {  // the next round number
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
  new Chart("errors", "Errors", "/min", rate), new Chart("bytes", "Bytes", "/s", bytes),
];

function showFigures() {
  if (!$("figures").open || !state) return;
  const { series, since, step_s: step, count: moments } = state.curves;
  const head = el("tr", {}, el("th", { scope: "col" }, "Time"), el("th", { scope: "col" }, "Machine"),
    ...charts.map((chart) => el("th", { scope: "col", class: "n" }, `${chart.title}${chart.unit}`)));
  const rows = [];
  for (let at = moments - 1; at >= Math.max(0, moments - 12); at -= 1) {
    series.forEach((each) => rows.push(el("tr", {}, el("td", {}, clock(since + at * step)), el("th", { scope: "row" }, each.name),
      ...charts.map((chart) => number(chart.format(each[chart.name][at]))))));
  }
  $("figures-table").replaceChildren(el("thead", {}, head), el("tbody", {}, ...rows));
}

// -- hosts

const hosts = { q: "", sort: "records", order: "down", page: 0 };

function openHosts(given) {
  Object.assign(hosts, { q: given.get("q") || "", sort: given.get("sort") || "records", order: given.get("order") || "down", page: Number(given.get("page") || 0) });
  if (document.activeElement !== $("hosts-q")) $("hosts-q").value = hosts.q;
  for (const cell of $("hosts-head").querySelectorAll("[data-sort]")) {
    if (cell.dataset.sort === hosts.sort) cell.setAttribute("aria-sort", hosts.order === "down" ? "descending" : "ascending");
    else cell.removeAttribute("aria-sort");
  }
  listen("hosts", address("/events/hosts", hosts), "hosts", showHosts);
}

function showHosts(facts) {
  const counting = facts.counted < facts.hosts ? `, ${count(facts.counted)} counted` : "";
  write($("hosts-count"), facts.listed ? `${count(facts.found)} of ${count(facts.hosts)} hosts${counting}` : "listing…");
  const signs = new Set(state ? state.signs : []);
  const mine = Boolean(state && state.control && token);
  keyed($("hosts-rows"), facts.rows, (row) => row.host, (row) => {
    const paused = signs.has(`PAUSE.${row.host}`);
    const verb = paused ? "resume" : "pause";
    const button = mine && el("button", { type: "button", "data-verb": verb, "data-host": row.host, "aria-label": `${verb} ${row.spoken}` }, paused ? "Resume" : "Pause");
    return el("tr", {},
      el("td", {}, el("a", { href: address("#pages", { host: row.host }) }, row.spoken), paused ? el("span", { class: "warn" }, " paused") : null),
      number(count(row.records)),
      el("td", { class: "n" }, row.failures ? el("a", { href: address("#pages", { host: row.host, room: "failures" }) }, count(row.failures)) : count(row.failures)),
      el("td", { class: "act" }, button || ""));
  });
  pager($("hosts-pager"), facts, (page) => address("#hosts", { ...hosts, page }));
}

function pager(nav, facts, to) {
  const step = (page, text, name) => (page >= 0 && page < facts.pages ? el("a", { href: to(page), rel: name }, text) : el("span", { class: "quiet" }, text));
  const fresh = el("nav", {}, step(facts.page - 1, "‹ Earlier", "prev"), el("span", {}, `page ${facts.page + 1} of ${count(facts.pages)}`), step(facts.page + 1, "Later ›", "next"));
  nav.hidden = facts.pages < 2;
  [...fresh.childNodes].forEach((child, position) => (nav.childNodes[position] ? morph(nav.childNodes[position], child) : nav.append(child)));
}

$("hosts-form").addEventListener("submit", (event) => { event.preventDefault(); searchHosts(); });
let typing = 0;
$("hosts-q").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(searchHosts, 250); });
const searchHosts = () => { history.replaceState(null, "", address("#hosts", { ...hosts, q: $("hosts-q").value, page: 0 })); route(); };

$("hosts-head").addEventListener("click", (event) => {
  const sort = event.target.closest("[data-sort]")?.dataset.sort;
  if (!sort) return;
  const order = sort === hosts.sort ? (hosts.order === "down" ? "up" : "down") : sort === "host" ? "up" : "down";
  location.hash = address("#hosts", { ...hosts, sort, order, page: 0 });
});
for (const id of ["hosts-rows", "signs"]) {
  $(id).addEventListener("click", (event) => {
    const { verb, host } = event.target.dataset;
    if (verb) control(verb, { hosts: [host] });
  });
}

// -- pages

let searching = null;  // what stops the search under way

function openPages(given) {
  searching?.abort();
  const [url, host, key, q] = ["url", "host", "key", "q"].map((name) => given.get(name) || "");
  $("pages-q").value = url || q;
  $("pages-host").value = host && !key ? host : "";
  const found = $("pages-found");
  if (url || key) return showPage(key ? { host, key } : { url });
  if (host && q) return showSearch(found, address("/api/search", { host, q }), `Pages of ${host} with “${q}”`);
  if (host) return showList(host, given.get("room") || "pages", Number(given.get("page") || 0));
  return found.replaceChildren(el("p", { class: "quiet" }, "A URL in full is found at once, in whatever spelling. For a part of one, name the host; a host alone lists its pages."));
}

$("pages-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const [q, host] = [$("pages-q").value.trim(), $("pages-host").value.trim()];
  const to = host && !q.includes("://") ? (q ? { host, q } : { host }) : { url: q };
  if (address("#pages", to) === location.hash) route();
  else location.hash = address("#pages", to);
});

const outcome = (row) => (row.class ? row.class : row.kind === "page" ? String(row.status) : `${row.status} ${row.kind}`);

function pageRow(row) {
  return el("tr", {}, el("td", { class: "url" }, el("a", { href: pageAddress(row) }, row.url), el("small", {}, row.title || row.message || "")),
    el("td", {}, row.how && row.how !== "url" ? `${outcome(row)}, ${row.how}` : outcome(row)), number(row.class ? "–" : bytes(row.bytes)), el("td", {}, row.at.slice(0, 19).replace("T", " ")));
}

function pageTable(label) {
  const body = el("tbody");
  const heads = ["URL", "Outcome", "Bytes", "When (UTC)"].map((text) => el("th", { scope: "col", class: text === "Bytes" ? "n" : false }, text));
  return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body)), body];
}

async function showList(host, room, page) {
  const found = $("pages-found");
  try {
    const facts = await ask(address("/api/pages", { host, room, page }));
    const [table, body] = pageTable(`${room} of ${host}`);
    const nav = el("nav", { class: "pager", "aria-label": "Pages of the table" });
    body.append(...facts.rows.map(pageRow));
    pager(nav, facts, (to) => address("#pages", { host, room, page: to }));
    const other = room === "pages" ? "failures" : "pages";
    found.replaceChildren(el("h3", { class: "title" }, `${host}: ${count(facts.found)} ${room}`),
      el("p", { class: "where" }, el("a", { href: address("#pages", { host, room: other }) }, `Show its ${other}`)), table, nav);
  } catch (error) {
    found.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

async function showSearch(place, path, title) {
  searching?.abort();
  const mine = new AbortController();
  searching = mine;
  const told = el("p", { class: "quiet", role: "status" }, "looking…");
  const [table, body] = pageTable(title);
  table.hidden = true;
  place.replaceChildren(el("h3", { class: "title" }, title), told, table);
  try {
    for await (const event of lines(path, mine.signal)) {
      if (event.error) throw new Error(event.error);
      if (event.page) { body.append(pageRow(event.page)); table.hidden = false; }
      else if (event.end) write(told, `${told.textContent} – ${{ all: "that is all", enough: "and there may be more", time: "stopped after two minutes; there may be more" }[event.end]}`);
      else write(told, `${count(body.children.length)} found in ${count(event.looked)} records of ${count(event.hosts)} hosts`);
    }
  } catch (error) {
    if (error.name !== "AbortError") told.replaceChildren(el("span", { class: "bad" }, error.message));
  }
}

async function* lines(path, signal) {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw new Error((await answer.json()).error);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n");
    rest = whole.pop();
    for (const line of whole) yield JSON.parse(line);
  }
}

async function showPage(given) {
  const found = $("pages-found");
  try {
    const facts = await ask(address("/api/page", given));
    const record = facts.record || {};
    $("pages-q").value = facts.url || "";
    found.replaceChildren(
      el("h3", { class: "title" }, record.title || facts.url || facts.key),
      el("p", { class: "where" }, facts.url ? el("a", { href: facts.url, rel: "noopener noreferrer", target: "_blank" }, facts.url) : "", " on the web, as it is now"),
      ...facts.damages.map((text) => el("p", { class: "bad" }, `A file of it is damaged: ${text}`)),
      ...(facts.error ? [el("h3", {}, "Failure"), factsOf(facts.error)] : []),
      ...(facts.record ? [el("h3", {}, "Record"), factsOf(record)] : []),
      ...linksOf(facts), ...(facts.has_body ? bodyOf(facts) : []));
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
    const link = name === "redirect" || name === "canonical";
    list.append(el("dt", {}, name), el("dd", {}, link ? el("a", { href: address("#pages", { url: value }) }, text) : text || "–"));
  }
  const headers = Object.entries(record.headers || {}).map(([name, value]) => el("div", {}, el("code", {}, `${name}: ${value}`)));
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
  const place = el("div");
  const button = el("button", { type: "button", onclick: () => showSearch(place, address("/api/links-in", { url: facts.url }), "All pages that link here") }, "Search all records");
  const from = facts.referrer;
  const first = from ? from.url ? el("a", { href: pageAddress(from) }, from.url) : `a page of another host, with the key ${from.key}` : "a seed, or a sitemap";
  return [...made, el("div", { class: "bar" }, el("h3", {}, "Links in"), button), el("p", { class: "where" }, "First found on: ", first), place];
}

function bodyOf(facts) {
  const frame = el("iframe", { sandbox: "", referrerpolicy: "no-referrer", title: "The stored page" });
  const buttons = [["page", "As a page"], ["text", "As text"], ["source", "Source"]].map(([way, text]) =>
    el("button", { type: "button", "aria-pressed": "false", onclick: (event) => show(way, event.target) }, text));
  const show = (way, pressed) => {
    frame.src = address(`/body/${facts.host}/${facts.key}`, { as: way });
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === pressed));
  };
  show("page", buttons[0]);
  return [el("div", { class: "bar" }, el("h3", {}, "Stored body"), ...buttons),
    el("p", { class: "quiet" }, "In a frame that runs no script, loads nothing and leads nowhere: its images and style sheets are missing, its links are dead."), frame];
}

// -- where we are

function route() {
  const [name, given] = location.hash.slice(1).split(/\?(.*)/s);
  const view = ["hosts", "pages"].includes(name) ? name : "overview";
  const moved = $(view).hidden;
  for (const each of ["overview", "hosts", "pages"]) {
    $(each).hidden = each !== view;
    const link = document.querySelector(`header nav a[href="#${each}"]`);
    if (each === view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (view !== "hosts") listen("hosts", null);
  if (view !== "pages") searching?.abort();
  if (moved) scrollTo(0, 0);
  const parameters = new URLSearchParams(given);
  if (view === "hosts") openHosts(parameters);
  if (view === "pages") openPages(parameters);
}

document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
$("control").addEventListener("click", (event) => {
  const { verb } = event.target.dataset;
  if (verb === "stop" && !confirm("Have all machines leave? What is in flight is finished first.")) return;
  if (verb) control(verb);
});
$("seed").addEventListener("submit", async (event) => { event.preventDefault(); await control("seed", { url: $("seed-url").value }); $("seed-url").value = ""; });
$("show-examples").addEventListener("click", showExamples);
$("figures").addEventListener("toggle", showFigures);
$("window").addEventListener("change", (event) => listen("state", address("/events", { window: event.target.value }), "state", showState));
window.addEventListener("hashchange", route);
listen("state", "/events?window=10min", "state", showState);
route();
