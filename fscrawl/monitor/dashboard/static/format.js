// Numbers and times, as people read them.

export const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
export const count = (value) => (value === null || value === undefined ? "–" : value < 1e6 ? whole.format(value) : short.format(value));
export const rate = (value) => (value === null || value === undefined ? "–" : value < 100 ? value.toFixed(1) : count(Math.round(value)));

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function lasting(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

export const clock = (at) => new Date(at * 1000).toLocaleTimeString("en-GB");

// A time to come, with how far away it is.
export const moment = (at, now) => (at <= now ? "now" : `${clock(at)}, in ${lasting(at - now)}`);

// A host directory as people write its host, as urls.shown_host does.
export const spoken = (host) => host.replace(/(?<=.)_(\d+)$/, ":$1");
export const numberOf = (value, noun, plural = `${noun}s`) => `${count(value)} ${value === 1 ? noun : plural}`;
