// A table of which the server sorts, searches and cuts the rows. The address of the view says what is shown.

import { $, el, keyed, pager, write } from "./elements.js";
import { count } from "./format.js";
import { address, listen, routeAgain } from "./server.js";

const AGAIN_MS = 5000;  // "in 35 s" grows old, though nothing has changed

export class Table {
  // name      of the section, of the table at the server, and of the view
  // columns   { text, sort: its name at the server, number: to the right, first: in descending order, act: buttons }
  // parts     [value, text] of what may be shown alone; the first one is all
  // keyOf, row, told      of a row: its key, its element; of all facts: the line above the table
  constructor(name, { columns, parts, sort, order, search, caption, keyOf, row, told }) {
    Object.assign(this, { name, columns, keyOf, row, told, caption, first: { q: "", sort, order, only: "", page: 0 } });
    this.asked = { ...this.first };
    this.facts = null;
    this.saidOf = "";
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
    this.said = el("p", { id: id("said"), class: "unseen", role: "status" });
    this.rows = el("tbody", { id: id("rows") });
    this.nav = el("nav", { id: id("pager"), class: "pager", "aria-label": "Pages of the table", hidden: true });
    this.scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": this.caption },
      el("table", {}, el("caption", { class: "unseen" }, this.caption), el("thead", {}, this.head), this.rows));
    $(name).querySelector("h2").after(this.line, this.said, this.scroll, this.nav);
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
    write(this.line, this.told(this.facts));
    const width = this.columns.length;
    const rows = this.facts.rows.length ? this.facts.rows : [null];
    keyed(this.rows, rows, (row) => (row ? `row ${this.keyOf(row)}` : ""), (row) => (row ? this.row(row, now) : el("tr", {}, el("td", { colspan: width, class: "quiet" }, "nothing to show"))));
    pager(this.nav, this.facts, (page) => this.address({ page }), this.scroll);
    this.say();
  }

  say() {  // aloud, only what somebody has asked for, and not each number that changes
    const asked = JSON.stringify(this.asked);
    if (this.saidOf && this.saidOf !== asked) write(this.said, `${count(this.facts.found)} found; shown from number ${count(50 * this.facts.page + 1)} on`);
    this.saidOf = asked;
  }
}
