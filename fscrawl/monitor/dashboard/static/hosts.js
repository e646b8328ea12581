// The table of hosts.

import { $, el, keyed, number, pager, write } from "./elements.js";
import { count, numberOf } from "./format.js";
import { address, control, listen, routeAgain, token } from "./server.js";
import { state } from "./overview.js";

const hosts = { q: "", sort: "records", order: "down", page: 0 };

export function openHosts(given) {
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
  write($("hosts-count"), facts.listed ? `${count(facts.found)} of ${numberOf(facts.hosts, "host")}${counting}` : "listing the hosts…");
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

$("hosts-form").addEventListener("submit", (event) => { event.preventDefault(); searchHosts(); });
let typing = 0;
$("hosts-q").addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(searchHosts, 250); });
const searchHosts = () => { history.replaceState(null, "", address("#hosts", { ...hosts, q: $("hosts-q").value, page: 0 })); routeAgain(); };

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
