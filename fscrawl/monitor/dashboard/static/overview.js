// The overview: totals, machines, errors, hosts that are slow or fail, signs.

import { $, el, keyed, number, retitle, write } from "./elements.js";
import { bytes, count, lasting, numberOf, rate, spoken } from "./format.js";
import { address, ask, pageAddress, token } from "./server.js";
import { charts, showFigures } from "./charts.js";

export let state = null;
const mood = { running: "good", finished: "good", paused: "warn", stopping: "warn", stopped: "bad" };

export function showState(facts) {
  state = facts;
  write($("state"), facts.state);
  $("state").className = `pill ${mood[facts.state] || "quiet"}`;
  $("state").title = facts.meaning;
  retitle(facts.state);
  write($("about"), `${facts.root} · crawl ${facts.crawl}${facts.control && token ? "" : " · read-only"} ·`);
  $("control").hidden = $("seed").hidden = !(facts.control && token);
  showTiles(facts.totals);
  showNotes(facts);
  showMachines(facts);
  keyed($("errors"), facts.errors, (row) => row[0], ([name, n]) => el("tr", {}, el("td", {}, name), number(count(n))));
  showWorst(facts);
  keyed($("signs"), facts.signs.length ? facts.signs : [""], String, sign);
  charts.forEach((chart) => chart.show(facts.curves));
  showFigures(facts.curves);
}

function showTiles(totals) {
  const ends = totals.ends_in_s === null ? "" : `done in about ${lasting(totals.ends_in_s)}`;
  const tiles = [
    ["Pages", count(totals.pages), totals.exact ? "" : "at least: a machine died"],
    ["Pages/s", rate(totals.rates["1 min"]), `${rate(totals.rates["5 min"])} in 5 min · ${rate(totals.rates["60 min"])} in 1 h`],
    ["Pending", count(totals.pending), ends || `${count(totals.in_flight)} in flight`],
    ["Failures", count(totals.errors), totals.pages ? `${((100 * totals.errors) / (totals.pages + totals.errors)).toFixed(1)} % of all` : ""],
    ["Stored", bytes(totals.bytes), `${bytes(totals.bytes_rate)}/s`],
    ["Free on disk", bytes(totals.free_bytes), ""],
  ];
  keyed($("tiles"), tiles, (tile) => tile[0], ([name, value, more]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value, el("small", {}, more))));
}

function showNotes(facts) {
  const notes = [];
  if (facts.settings_trouble) notes.push(`${facts.settings_trouble}. The machines keep the last valid settings.`);
  const others = facts.machines.filter((machine) => machine.other_settings).length;
  if (others) notes.push(`${others} machines do not use the newest crawl.toml yet.`);
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
  write($("unlisted"), `and ${facts.unlisted} more that left or died`);
}

function showWorst(facts) {
  const rows = new Map();
  for (const [host, seconds] of facts.slow) rows.set(host, { host, seconds });
  for (const [host, failures] of facts.failing) rows.set(host, { ...(rows.get(host) || { host }), failures });
  keyed($("worst"), rows.size ? [...rows.values()] : [{ host: "" }], (row) => row.host, (row) => el("tr", {},
    el("td", {}, row.host ? el("a", { href: address("#pages", { host: row.host }) }, spoken(row.host)) : "none now"),
    number(row.seconds === undefined ? "" : `${row.seconds.toFixed(1)} s`), number(row.failures === undefined ? "" : count(row.failures))));
}

function sign(name) {
  if (!name) return el("li", { class: "quiet" }, "none");
  const host = name.startsWith("PAUSE.") ? name.slice(6) : null;
  const meaning = host ? `nothing is fetched from ${spoken(host)}` : name === "PAUSE" ? "machines fetch nothing" : "all machines leave";
  const again = !$("control").hidden && host && el("button", { type: "button", "data-verb": "resume", "data-host": host }, "Resume");
  return el("li", {}, el("code", {}, name), `${meaning} `, again || null);
}

export async function showExamples() {
  try {
    const facts = await ask("api/errors");
    const classes = Object.entries(facts.classes).sort();
    $("examples").replaceChildren(...classes.flatMap(([name, rows]) => [el("h4", {}, name),
      el("ul", {}, ...rows.map((row) => el("li", {}, el("a", { href: pageAddress(row) }, row.shown || row.url), ` – ${row.message}`)))]),
    el("p", { class: "quiet" }, classes.length ? `from ${count(facts.looked)} failures, chosen at random` : "there are no failures"));
    write($("examples-said"), classes.length ? `examples of ${numberOf(classes.length, "class", "classes")} of failures` : "there are no failures");
    write($("show-examples"), "Other examples");
  } catch (error) {
    $("examples").replaceChildren(el("p", { class: "bad" }, error.message));
  }
}
