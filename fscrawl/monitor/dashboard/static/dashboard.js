// The dashboard's page: which of its views is shown, and what its buttons do.

import { $, el, retitle } from "./elements.js";
import { address, control, listen } from "./server.js";
import { showFigures } from "./charts.js";
import { showExamples, showState, state } from "./overview.js";
import { tasks } from "./tasks.js";
import { hosts } from "./hosts.js";
import { shards } from "./shards.js";
import { openPages, stopSearch } from "./pages.js";
import { openWords } from "./words.js";

// All views, in the order of the navigation. A new one is one line here, and a <section> with an <h2> in index.html.
const VIEWS = {
  overview: { title: "Overview" },
  tasks: { title: "Tasks", open: (given) => tasks.open(given), close: () => tasks.close() },
  hosts: { title: "Hosts", open: (given) => hosts.open(given), close: () => hosts.close() },
  shards: { title: "Shards", open: (given) => shards.open(given), close: () => shards.close() },
  pages: { title: "Pages", open: openPages, close: stopSearch },
  search: { title: "Search", open: openWords },
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
listen("state", "events?window=10min", "state", showState);
route();
