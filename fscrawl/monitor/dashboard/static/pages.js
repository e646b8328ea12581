// Stored pages: lists, searches, and one page with its record, its links and its body.

import { $, el, number, pager, write } from "./elements.js";
import { bytes, count, numberOf, spoken, whole } from "./format.js";
import { address, ask, lines, pageAddress, routeAgain } from "./server.js";

let searching = null;  // stops the search that is running
export const stopSearch = () => searching?.abort();

export function openPages(given) {
  searching?.abort();
  const [url, host, key, q, label] = ["url", "host", "key", "q", "label"].map((name) => given.get(name) || "");
  $("pages-q").value = url || q;
  $("pages-host").value = host && !key ? spoken(host) : "";
  const found = $("pages-found");
  write($("pages-said"), "");
  if (label) return showTask(found, label, given.get("room") || "pages");
  if (url || key) return showPage(key ? { host, key } : { url });
  if (host && q) return showSearch(found, address("api/search", { host, q }), `Pages of ${spoken(host)} with “${q}”`);
  if (q) return showSearch(found, address("api/search", { q }), `Hosts and pages with “${q}”`);
  if (host) return showList(host, given.get("room") || "pages", Number(given.get("page") || 0));
  return found.replaceChildren(el("p", { class: "quiet" }, "A full URL is found at once. A part of a URL or of a title is searched for in all pages, or only in those of a host. A host alone lists its pages."));
}

$("pages-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const [q, host] = [$("pages-q").value.trim(), $("pages-host").value.trim()];
  const to = q.includes("://") ? { url: q } : { ...(host && { host }), ...(q && { q }) };
  if (address("#pages", to) === location.hash) routeAgain();
  else location.hash = address("#pages", to);
});

const outcome = (row) => (row.class ? row.class : row.kind === "page" ? String(row.status) : `${row.status} ${row.kind}`);

function pageRow(row) {
  return el("tr", {}, el("td", { class: "url" }, el("a", { href: pageAddress(row) }, row.shown || row.url), el("small", {}, row.title || row.message || "")),
    el("td", {}, row.how && row.how !== "url" ? `${outcome(row)}, ${row.how}` : outcome(row)), number(row.class ? "–" : bytes(row.bytes)), el("td", {}, row.at.slice(0, 19).replace("T", " ")));
}

function pageTable(label) {
  const body = el("tbody");
  const heads = ["URL", "Outcome", "Bytes", "When (UTC)"].map((text) => el("th", { scope: "col", class: text === "Bytes" ? "n" : false }, text));
  return [el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", {}, el("caption", { class: "unseen" }, label), el("thead", {}, el("tr", {}, ...heads)), body)), body];
}

async function showList(host, room, page) {
  const found = $("pages-found");
  try {
    const facts = await ask(address("api/pages", { host, room, page }));
    const [table, body] = pageTable(`${room} of ${spoken(host)}`);
    const nav = el("nav", { class: "pager", "aria-label": "Pages of the table" });
    body.append(...facts.rows.map(pageRow));
    pager(nav, facts, (to) => address("#pages", { host, room, page: to }));
    const other = room === "pages" ? "failures" : "pages";
    found.replaceChildren(el("h3", { class: "title" }, `${spoken(host)}: ${count(facts.found)} ${room}`),
      el("p", { class: "where" }, el("a", { href: address("#pages", { host, room: other }) }, `Show its ${other}`)), table, nav);
    write($("pages-said"), `${numberOf(facts.found, room === "pages" ? "page" : "failure")} of ${spoken(host)}; shown from number ${count(50 * page + 1)} on`);
  } catch (error) {
    found.replaceChildren(el("p", { class: "bad" }, error.message));
  }
}

function showTask(found, label, room) {
  const other = room === "pages" ? "failures" : "pages";
  const place = el("div");
  found.replaceChildren(el("p", { class: "where" }, el("a", { href: address("#pages", { label, room: other }) }, `Show its ${other}`), " · ", el("a", { href: address("#tasks", { q: label }) }, "How far it is")), place);
  return showSearch(place, address("api/labelled", { label, room }), `${room === "pages" ? "Pages" : "Failures"} of the task “${label}”`);
}

async function showSearch(place, path, title) {
  searching?.abort();
  const mine = new AbortController();
  searching = mine;
  const told = el("p", { class: "quiet" }, "searching…");
  const ended = el("p", { class: "quiet", role: "status" });  // what is read aloud: not each number before
  const [table, body] = pageTable(title);
  const hosts = el("ul", { class: "list", "aria-label": "Hosts" });
  table.hidden = hosts.hidden = true;
  place.replaceChildren(el("h3", { class: "title" }, title), told, ended, hosts, table);
  try {
    for await (const event of lines(path, mine.signal)) {
      if (event.error) throw new Error(event.error);
      if (event.host) { hosts.append(el("li", {}, el("a", { href: address("#pages", { host: event.host }) }, event.spoken))); hosts.hidden = false; }
      else if (event.more_hosts) hosts.append(el("li", {}, `and ${count(event.more_hosts)} more hosts`));
      else if (event.page) { body.append(pageRow(event.page)); table.hidden = false; }
      else if (event.end) {
        write(ended, `${told.textContent} – ${{ all: "the search is complete", enough: "the search stopped here; there may be more", time: "the search stopped after two minutes; there may be more" }[event.end]}`);
        told.remove();
      }
      else write(told, `${count(body.children.length)} found in ${numberOf(event.looked, "record")} of ${numberOf(event.hosts, "host")}`);
    }
  } catch (error) {
    if (error.name !== "AbortError") told.replaceChildren(el("span", { class: "bad" }, error.message));
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
    write($("pages-said"), `found: ${record.title || facts.shown || facts.url || facts.key}`);
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
    const to = { redirect: { url: value }, canonical: { url: value }, label: { label: value } }[name];
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
  const place = el("div");
  const button = el("button", { type: "button", onclick: () => showSearch(place, address("api/links-in", { url: facts.url }), "All pages that link here") }, "Search all records");
  const from = facts.referrer;
  const first = from ? from.url ? el("a", { href: pageAddress(from) }, from.shown || from.url) : `a page on another host; its key is ${from.key}` : "the seeds, or a sitemap";
  return [...made, el("div", { class: "bar" }, el("h3", {}, "Links in"), button), el("p", { class: "where" }, "First found on: ", first), place];
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
