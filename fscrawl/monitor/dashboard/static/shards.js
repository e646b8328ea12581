// The table of shards: which machine holds each.

import { el, number } from "./elements.js";
import { count, lasting, numberOf } from "./format.js";
import { Table } from "./tables.js";

function told(facts) {
  const unread = facts.unread ? `; ${count(facts.unread)} not read yet` : "";
  if (!facts.running) return `${numberOf(facts.shards, "shard")}. No machine runs, so nobody holds one${unread}`;
  const unknown = facts.torn ? `; of ${count(facts.torn)} the lease cannot be read` : "";
  return `${count(facts.found)} of ${numberOf(facts.shards, "shard")}; ${count(facts.held)} held by ${numberOf(facts.holders, "machine")}, ${count(facts.free)} free, ${count(facts.empty)} empty${unknown}${unread}`;
}

function row(shard, now) {
  const beat = shard.beat_at === null ? "" : `${lasting(Math.max(0, now - shard.beat_at))} ago`;
  return el("tr", {},
    el("th", { scope: "row" }, String(shard.shard)),
    el("td", { class: { held: "good", dead: "warn", unknown: "warn", torn: "warn", never: "quiet" }[shard.state] || null }, shard.words),
    el("td", {}, shard.holder || ""), number(beat), number(shard.pending === null ? "" : count(shard.pending)), number(shard.epoch ? String(shard.epoch) : ""));
}

export const shards = new Table("shards", {
  columns: [
    { text: "Shard", sort: "shard" }, { text: "State" }, { text: "Holder", sort: "holder" }, { text: "Last heartbeat", sort: "beat_at", number: true },
    { text: "Pending", sort: "pending", number: true }, { text: "Holders so far", number: true },
  ],
  parts: [["", "shards with URLs"], ["held", "held"], ["free", "free"], ["all", "all shards"]],
  sort: "shard", order: "up", search: "machine, or number of a shard",
  caption: "Shards: which machine holds each, and how much is pending in it",
  keyOf: (shard) => shard.shard, row, told,
});
