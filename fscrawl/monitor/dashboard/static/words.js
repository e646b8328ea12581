// Searches by words of titles and texts, in the index of a dataset.

import { $, el, pager } from "./elements.js";
import { numberOf, spoken } from "./format.js";
import { address, ask, pageAddress, routeAgain } from "./server.js";

let asked = 0;  // an answer that comes after the next question is not shown

export async function openWords(given) {
  const mine = ++asked;
  const [q, host, page] = ["q", "host", "page"].map((name) => given.get(name) || "");
  $("search-q").value = q;
  $("search-host").value = host;
  const [told, found, nav] = [$("search-told"), $("search-found"), $("search-pager")];
  found.replaceChildren();
  nav.hidden = true;
  if (!q) return told.replaceChildren('All words must be in a page. "A phrase" stands in quotes, begin* finds words that begin so, and -word must not be there.');
  told.replaceChildren("searching…");
  try {
    const facts = await ask(address("api/words", { q, ...(host && { host }), page: page || 0 }));
    if (mine !== asked) return;
    const missing = facts.missing ? `; ${numberOf(facts.missing, "record")} of the dataset are not in the index yet` : "";
    told.replaceChildren(`${numberOf(facts.found, "page")} found${missing}`);
    found.start = facts.page * 20 + 1;
    found.replaceChildren(...facts.rows.map(item));
    pager(nav, facts, (to) => address("#search", { q, ...(host && { host }), page: to }));
  } catch (error) {
    if (mine === asked) told.replaceChildren(el("span", { class: "bad" }, error.message));
  }
}

const item = (row) => el("li", {}, el("h3", {}, el("a", { href: pageAddress(row) }, row.title || row.url)),
  el("p", { class: "where" }, el("span", {}, row.url), ` · ${spoken(row.host)} · ${row.at.slice(0, 16).replace("T", " ")} UTC`),
  el("p", {}, ...row.pieces.map(([text, hit]) => (hit ? el("mark", {}, text) : text))));

$("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const [q, host] = [$("search-q").value.trim(), $("search-host").value.trim()];
  const to = address("#search", { ...(q && { q }), ...(host && { host }) });
  if (to === location.hash) routeAgain();
  else location.hash = to;
});
