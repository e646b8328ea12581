// Making and updating elements. What comes from the server is put there as text; nothing is ever parsed as HTML.

import { count } from "./format.js";

export const $ = (id) => document.getElementById(id);

export function el(name, attributes = {}, ...children) {
  const made = name === "svg" || name === "path" || name === "line"
    ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const number = (text) => el("td", { class: "n" }, text);

export function write(node, text) {  // only if it is new, so that a screen reader does not read the same text again
  if (node.textContent !== text) node.textContent = text;
}

export const retitle = (state) => {
  document.title = [document.querySelector("header nav [aria-current]")?.textContent, state, "fscrawl"].filter(Boolean).join(" · ");
};

// Give `parent` one child for each row. A child with the same key is kept, so that focus and selection stay.
export function keyed(parent, rows, keyOf, make) {
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

export function morph(old, fresh) {  // listeners are not copied: they belong to an element above the rows
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
export function pager(nav, facts, to, instead = null) {
  const focused = nav.contains(document.activeElement);
  const step = (page, text, name) => (page >= 0 && page < facts.pages ? el("a", { href: to(page), rel: name }, text) : el("span", { class: "quiet" }, text));
  const fresh = el("nav", {}, step(facts.page - 1, "‹ Earlier", "prev"), el("span", {}, `page ${facts.page + 1} of ${count(facts.pages)}`), step(facts.page + 1, "Later ›", "next"));
  nav.hidden = facts.pages < 2;
  [...fresh.childNodes].forEach((child, position) => (nav.childNodes[position] ? morph(nav.childNodes[position], child) : nav.append(child)));
  if (focused && !nav.contains(document.activeElement)) (nav.querySelector("a") || instead)?.focus();
}
