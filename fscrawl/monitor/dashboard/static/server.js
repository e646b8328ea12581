// What the page asks the server: answers, streams of events, and control. All paths are relative to the page, which may
// be at a sub-path of a reverse proxy.

import { $, write } from "./elements.js";

export const token = (() => {  // taken out of the address at once, since people copy addresses and keep them
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem("token", given[1]);
    history.replaceState(null, "", "#overview");
  }
  return sessionStorage.getItem("token");
})();

export async function ask(path, options = {}) {
  const answer = await fetch(path, options);
  const facts = answer.headers.get("content-type").startsWith("application/json") ? await answer.json() : {};
  if (!answer.ok) throw new Error(facts.error || (await answer.text()).trim());
  return facts;
}

export async function control(verb, given = {}) {
  try {
    const headers = { "x-fscrawl-token": token };
    say((await ask(`control/${verb}`, { method: "POST", headers, body: JSON.stringify(given) })).done);
  } catch (error) {
    say(error.message);
  }
}

function say(text) {
  $("said").hidden = !text;
  write($("said"), text);
}

function trouble(text) {
  $("trouble").hidden = !text;
  write($("trouble"), text);
}

export const address = (path, given) => `${path}?${new URLSearchParams(given)}`;
export const pageAddress = (row) => (row.host ? address("#pages", { host: row.host, key: row.key }) : address("#pages", { url: row.url }));

const streams = {};  // by name; closed while the page is hidden, since a browser opens only six connections to a host

export function listen(name, path, kind, take) {
  streams[name]?.source?.close();
  delete streams[name];
  if (!path) return;
  const stream = { path, kind, take, source: null };
  streams[name] = stream;
  if (!document.hidden) open(stream);
}

function open(stream) {
  const source = new EventSource(stream.path);
  stream.source = source;
  source.addEventListener(stream.kind, (event) => { trouble(""); write($("live"), "live"); stream.take(JSON.parse(event.data)); });
  source.addEventListener("trouble", (event) => trouble(`The tree cannot be read: ${JSON.parse(event.data).error}`));
  source.onerror = () => {
    write($("live"), "connection lost; trying again");
    if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (stream.source === source) open(stream); }, 3000);
  };
}

document.addEventListener("visibilitychange", () => {
  for (const stream of Object.values(streams)) {
    stream.source?.close();
    if (!document.hidden) open(stream);
  }
});

// The JSON objects of an answer that has one a line, as they come.
export async function* lines(path, signal) {
  const answer = await fetch(path, { signal });
  if (!answer.ok) throw new Error((await answer.json()).error);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const whole = (rest + value).split("\n");
    rest = whole.pop();
    for (const line of whole) yield JSON.parse(line);
  }
}

// Show what the address asks for, though it has not changed, or was changed without a new entry in the history.
export const routeAgain = () => window.dispatchEvent(new Event("hashchange"));
