// The dashboard's page: which of its three views is shown, and what its buttons do.

import { $ } from "./elements.js";
import { address, control, listen } from "./server.js";
import { showFigures } from "./charts.js";
import { showExamples, showState, state } from "./overview.js";
import { openHosts } from "./hosts.js";
import { openPages, stopSearch } from "./pages.js";
import { openWords } from "./words.js";

function route() {
  const [name, given] = location.hash.slice(1).split(/\?(.*)/s);
  const view = ["hosts", "pages", "search"].includes(name) ? name : "overview";
  const moved = $(view).hidden;
  for (const each of ["overview", "hosts", "pages", "search"]) {
    $(each).hidden = each !== view;
    const link = document.querySelector(`header nav a[href="#${each}"]`);
    if (each === view) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (view !== "hosts") listen("hosts", null);
  if (view !== "pages") stopSearch();
  if (moved) scrollTo(0, 0);
  const parameters = new URLSearchParams(given);
  if (view === "hosts") openHosts(parameters);
  if (view === "pages") openPages(parameters);
  if (view === "search") openWords(parameters);
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
$("window").addEventListener("change", (event) => listen("state", address("/events", { window: event.target.value }), "state", showState));
window.addEventListener("hashchange", route);
listen("state", "/events?window=10min", "state", showState);
route();
