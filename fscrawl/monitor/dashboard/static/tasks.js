// The table of tasks: how far each label is.

import { el, number } from "./elements.js";
import { count, lasting, numberOf, rate } from "./format.js";
import { address } from "./server.js";
import { Table } from "./tables.js";

const WORDS = { open: "open", done: "done", stopped: "stopped in the settings" };

function told(facts) {
  if (!facts.tasks) return "This crawl has no tasks: no seed has a label.";
  const { open, done, stopped } = facts.states;
  const parts = [`${count(open)} open`, `${count(done)} done`, ...(stopped ? [`${count(stopped)} stopped`] : [])];
  return `${count(facts.found)} of ${numberOf(facts.tasks, "task")}: ${parts.join(", ")}${facts.running ? "" : ". No machine runs"}`;
}

function pages(task, room, text, what) {
  const value = task[what];
  if (!value || !task.has_pages) return number(count(value));
  return el("td", { class: "n" }, el("a", { href: address("#pages", { label: task.label, ...(room && { room }) }), "aria-label": `${count(value)} ${text} of ${task.label}` }, count(value)));
}

const row = (task) => el("tr", {},
  el("th", { scope: "row", class: "label" }, task.has_pages ? el("a", { href: address("#pages", { label: task.label }) }, task.label) : task.label),
  el("td", { class: { done: "good", stopped: "warn" }[task.state] || null }, WORDS[task.state]),
  number(task.rate === null ? "–" : rate(task.rate)), number(count(task.found)), pages(task, "", "pages", "stored"),
  pages(task, "failures", "failures", "failed"), number(count(task.pending)), number(task.ends_in_s === null ? "" : `in ${lasting(task.ends_in_s)}`));

export const tasks = new Table("tasks", {
  columns: [
    { text: "Task", sort: "label" }, { text: "State" }, { text: "Pages/s", sort: "rate", number: true }, { text: "Found", sort: "found", number: true },
    { text: "Stored", sort: "stored", number: true }, { text: "Failed", sort: "failed", number: true }, { text: "Pending", sort: "pending", number: true }, { text: "Ends", number: true },
  ],
  parts: [["", "all tasks"], ["open", "open"], ["done", "done"], ["stopped", "stopped"]],
  sort: "pending", order: "down", search: "part of a label",
  caption: "Tasks: how far each label is",
  keyOf: (task) => task.label, row, told,
});
