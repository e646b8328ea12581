// The table of hosts: what is stored of each, how it is asked, and why it is left alone.

import { $, el, number } from "./elements.js";
import { count, moment, numberOf } from "./format.js";
import { address, control, token } from "./server.js";
import { state } from "./overview.js";
import { Table } from "./tables.js";

function told(facts) {
  if (!facts.listed) return "listing the hosts…";
  const counting = facts.counted < facts.hosts ? `, ${count(facts.counted)} counted` : "";
  return `${count(facts.found)} of ${numberOf(facts.hosts, "host")}${counting}${facts.held ? `; ${count(facts.held)} held back now` : ""}`;
}

function row(host, now) {
  const paused = state !== null && state.signs.includes(`PAUSE.${host.host}`);
  const verb = paused ? "resume" : "pause";
  const mine = Boolean(state && state.control && token);
  const button = mine && el("button", { type: "button", "data-verb": verb, "data-host": host.host, "aria-label": `${verb} ${host.spoken}` }, paused ? "Resume" : "Pause");
  const why = paused ? "paused by a sign" : host.why || "";
  const delay = host.delay_s === undefined ? "" : `${host.delay_s < 10 ? Number(host.delay_s.toFixed(1)) : Math.round(host.delay_s)} s`;
  return el("tr", {},
    el("th", { scope: "row" }, el("a", { href: address("#pages", { host: host.host }) }, host.spoken)),
    number(count(host.records)),
    el("td", { class: "n" }, host.failures ? el("a", { href: address("#pages", { host: host.host, room: "failures" }), "aria-label": `${count(host.failures)} failures of ${host.spoken}` }, count(host.failures)) : count(host.failures)),
    number(host.pending === undefined ? "" : count(host.pending)),
    el("td", { class: "words" }, delay, host.set_by ? el("small", {}, ` ${host.set_by}`) : null),
    el("td", { class: paused || host.held ? "words warn" : "words" }, why),
    number(host.until ? moment(host.until, now) : ""),
    el("td", { class: "act" }, button || ""));
}

export const hosts = new Table("hosts", {
  columns: [
    { text: "Host", sort: "host" }, { text: "Records", sort: "records", number: true }, { text: "Failures", sort: "failures", number: true },
    { text: "Pending", sort: "pending", number: true }, { text: "Delay" }, { text: "Now" }, { text: "Until", sort: "until", number: true }, { text: "Actions", act: true },
  ],
  parts: [["", "all hosts"], ["held", "held back"], ["pending", "with pending URLs"]],
  sort: "records", order: "down", search: "part of a host name",
  caption: "Hosts: what is stored, what is pending, and why a host is asked nothing now",
  keyOf: (host) => host.host, row, told,
});

document.body.addEventListener("click", (event) => {
  const { verb, host } = event.target.dataset || {};
  if (verb && host) control(verb, { hosts: [host] });
});
