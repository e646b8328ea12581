"""The rules that can be left out one at a time, and what the model says then: its mutations.

`seed` is the first schedule that violates an invariant without the rule; `python -m tests.model mutate` finds them.
No seed: no schedule has been found yet, and `note` says why.
"""

from __future__ import annotations

from typing import NamedTuple


class Rule(NamedTuple):
    """`faults`: those of `faults.py` that its schedules have."""

    name: str
    says: str
    seed: int | None = None
    faults: str = ""
    note: str = ""


RULES = (
    # what is said
    Rule(
        "one_file",
        "T3, T4: a page's links and then its mark stand in one file; a lost tail loses both",
        seed=114,
        faults="heir join",
    ),
    Rule(
        "term_of_filter",
        "T2: the term of a mark is that of the filter, not that of the moment of telling",
        seed=59,
        faults="race edit",
    ),
    Rule(
        "late_is_told",
        "T4: what a worker stored is told, though its task was given back: it may have replaced a page of other links",
        seed=700567,
    ),
    Rule(
        "failure_is_no_page",
        "the mark of a failure does not count for the page that a retry has stored since",
        seed=702658,
    ),
    Rule(
        "limit_not_told",
        "what a sender tells is never filtered by `max_pages_per_host`, which is in no term",
        seed=265,
        faults="edit",
    ),
    Rule(
        "term_in_mark",
        "a mark counts only if its term covers the present one",
        seed=5,
        faults="edit",
    ),
    Rule(
        "depth_in_mark",
        "H5: a mark counts only if its depth is not above the least that is known",
        seed=104,
        faults="takeover",
    ),
    Rule(
        "promise",
        "PROMISE: before a mark its log says how far all logs were read that it may rest on",
        faults="heir edit race power_loss join join",
        note="it takes a page that was told twice, by two machines, and a power loss within C of the first telling",
    ),
    Rule(
        "generation_nonce",
        "a term names a generation by random bits: after a restore, its number may come again",
        faults="restore heir join",
        note="it takes a backup that is not of one moment, twice: too rare for random schedules",
    ),
    Rule(
        "generation_retakes",
        "a generation puts every shard together anew",
        seed=27,
        faults="heir cut crash join",
    ),
    Rule(
        "edit_retakes",
        "an edit puts every shard together anew, as memory keeps only what the term asked for",
        seed=0,
        faults="edit race",
    ),
    Rule(
        "retake_waits",
        "a shard is put together after its tasks in flight have come back and were told",
        faults="edit race takeover",
        note="results carry their term; it keeps memory simple",
    ),
    Rule(
        "retake_flushes",
        "K3: own lines are flushed before a shard is put together",
        seed=290,
        faults="edit takeover",
    ),
    # logs
    Rule(
        "next_segment",
        "after an append that failed in any way, nothing is appended to that segment",
        faults="append_fault crash join",
        note="found by thought: bytes behind half a block; here, the place in a block's head shows it as well",
    ),
    Rule(
        "first_line",
        "the first line of a segment says how much of the one before counts",
        faults="heir cut join",
        note="found by thought: it takes a lost block of a segment that is not the last one",
    ),
    Rule(
        "place_in_head",
        "a block's head names the place where it stands: a log that was cut may grow again unseen",
        faults="heir heir join",
        note="it takes a log that is cut, and a crash between a write and the look at its size",
    ),
    Rule(
        "own_log_is_looked_at",
        "GONE: a machine looks whether its own logs are as it left them",
        seed=1,
        faults="cut",
    ),
    Rule(
        "machinery_is_looked_at",
        "GONE: a machine looks whether `.fscrawl` is the one that it joined",
        seed=1,
        faults="delete delete delete join",
    ),
    Rule(
        "gone_makes_generation",
        "GONE: a generation is made before it joins anew",
        faults="restore race edit join",
        note="the others notice the same, or have not read what is lost",
    ),
    Rule(
        "cut",
        "CUT: a log that holds less than was read makes a generation",
        seed=170,
        faults="heir join",
    ),
    Rule(
        "cut_by_snapshot",
        "CUT: so does a log that holds less than a snapshot has of it",
        seed=307,
        faults="tidy cut crash join",
    ),
    Rule(
        "cut_waits",
        "CUT: it is waited for C before a log counts as cut",
        faults="cut",
        note="it costs only generations: here, what was read once is never shorter for a while",
    ),
    Rule(
        "gap",
        "CUT: segments that are missing before any snapshot make a generation",
        faults="tidy tidy tear crash join",
        note="found by thought, and by no schedule yet: all that a removed segment held has to be pending still",
    ),
    Rule(
        "own_part_read",
        "K6: live readers read what a writer said of shards that it took for its own",
        seed=211,
        faults="takeover takeover pause resume",
    ),
    Rule(
        "end_waits_for_cuts",
        "E1: nobody leaves while something looks cut",
        faults="heir late_edit",
        note="found by thought: a machine leaves within C of seeing a log that is cut",
    ),
    # what is stored
    Rule(
        "survey",
        "K4: what is stored and said nowhere is listed",
        faults="delete_now edit",
        note="found by thought: .fscrawl is deleted while a page waits that only a page out of scope leads to",
    ),
    Rule(
        "late_survey",
        "K4: the listing counts if it was made C after the take",
        faults="takeover edit",
        note="what was stored last is known by lines, and looked for (H3); kept for what no line knows",
    ),
    Rule(
        "edit_surveys",
        "K4: so it is done if a mark of another term is the only one",
        faults="snapshots edit crash join",
        note="found by thought: a told page whose URL no snapshot keeps, after max_depth was set",
    ),
    Rule(
        "told_from_record",
        "H4: what is stored and not told is told from its record",
        seed=1,
        faults="takeover",
    ),
    Rule(
        "by_name",
        "H3: after a take, what is handed out is also asked for by name",
        seed=63,
        faults="takeover",
    ),
    Rule(
        "ripe_listing",
        "H3: until the listing was made C after the take",
        faults="takeover",
        note="found by thought: a stale listing right after the take, asked more than C later",
    ),
    Rule(
        "retake_lists_again",
        "what is put together anew is also listed anew",
        faults="edit",
        note="what a mark of another term tells of is looked for by name; it keeps memory simple",
    ),
    Rule(
        "given_back",
        "what was given back after it may have been stored is asked for by name",
        seed=1,
        faults="append_fault",
    ),
    Rule(
        "spent_by_time",
        "a mark names the retries that it spends, not the time of its failure",
        seed=1,
        faults="page_fails retry takeover late_publish",
    ),
    Rule(
        "snapshot_keeps_retries",
        "a snapshot keeps the retries that are not spent",
        seed=208,
        faults="page_fails page_fails retry snapshots crash join",
    ),
    Rule(
        "all_refreshes",
        "pages are refreshed by the latest of all generations that ask for it, not by the newest only",
        seed=261,
        faults="refresh cut crash join",
    ),
    Rule(
        "check_refreshes",
        "a stored page that a refresh asks for is fetched, even where it is only looked for",
        seed=6,
        faults="refresh join",
    ),
    # leases
    Rule(
        "hand_over_waits",
        "a shard is handed over when nothing of it is in flight",
        seed=8,
        faults="join",
    ),
    Rule(
        "unclear_hand_over_stops",
        "a hand-over whose reply is lost counts as made until the leases say otherwise",
        seed=65,
        faults="append_fault join",
    ),
    Rule(
        "came_back",
        "a lease of a later epoch than the held one that names this machine means: the shard was away, so take it anew",
        seed=502564,
    ),
    Rule(
        "rests_beaten",
        "a shard is handed over when a beat has told of its host's rest",
        faults="host_rests join",
        note="found by thought: a rest that no beat told of before the hand-over",
    ),
    Rule(
        "rests_by_lease",
        "the lease says how many beats of its giver must be read",
        seed=387,
        faults="host_rests join",
    ),
    Rule(
        "one_more_beat",
        "after a fence, one more beat is waited for",
        seed=2,
        faults="takeover",
    ),
    Rule(
        "look_after_fence",
        "after a fence, leases are looked at by listing and by name",
        seed=43,
        faults="takeover",
    ),
    Rule(
        "held_leases_are_there",
        "after a fence, a lease that is not there, or names another, is GONE",
        faults="restore pause resume",
        note="found by thought: a machine that stood still while a backup was put back, in place",
    ),
    Rule(
        "grace",
        "who joins anew, or makes `.fscrawl` over pages, waits until old permits are over",
        seed=46,
        faults="delete delete restore join",
    ),
    # snapshots
    Rule(
        "snapshot_where_read",
        "a snapshot says where its reader was, never where logs end",
        seed=8,
        faults="tidy crash join",
    ),
    Rule(
        "snapshot_of_files",
        "a snapshot is a function of files: nothing that is not flushed",
        seed=101,
        faults="snapshots snapshots crash join",
    ),
    Rule(
        "snapshot_keeps_aside",
        "a snapshot keeps what its term does not ask for",
        seed=64,
        faults="race snapshots",
    ),
    Rule(
        "snapshot_resurveys",
        "a snapshot of a new term that drops a mark says that no survey was made",
        faults="edit snapshots crash join",
        note="found by thought: a taker must come between an edit's snapshot and the telling",
    ),
    Rule(
        "every_snapshot",
        "a segment is removed when every shard's snapshot is beyond it",
        faults="tidy crash join",
        note="the gap is seen, and heals by a generation",
    ),
    Rule(
        "old_snapshot",
        "a snapshot counts for removal when it is 2C old; so long the one before stays",
        faults="tidy crash join",
        note="the gap is seen, and heals by a generation",
    ),
    # the end
    Rule(
        "end_by_places",
        "E4: all have read the same, by the whole vector",
        seed=377,
        faults="join",
    ),
    Rule(
        "end_by_config",
        "E4: all know the same text of crawl.toml and seeds.txt, not only the same term",
        faults="edit",
        note="found by thought: limits and seeds are in no term, so a peer may be idle by an older text",
    ),
    Rule(
        "end_looks_at_settings",
        "E2: settings and generations are looked at once more",
        seed=11,
        faults="late_edit",
    ),
    Rule(
        "end_looks_at_leases",
        "E2: so are leases",
        seed=46,
        faults="join",
    ),
    Rule(
        "end_adopts_first",
        "E3: a shard that was handed to this machine is put together first",
        seed=152,
        faults="join",
    ),
    Rule(
        "end_by_finished_while_here",
        "E5: only those count who finished while this machine was there",
        faults="late_edit join",
        note="what is compared has the text of seeds.txt; so an end of an earlier run is as good",
    ),
    Rule(
        "two_beats",
        "E4: two beats of each machine say so",
        faults="join",
        note="beats are atomic here, and the whole vector is strict",
    ),
    # format 1
    Rule(
        "waits_for_old",
        "no machine joins while one of format 1 is live",
        faults="old_works old_works old_works old_works",
        note="an old machine's shards are surveyed when they are taken; but it would never read a line for them",
    ),
    Rule(
        "old_feeds_stay",
        "old feeds are removed after their retries were flushed; until then every joiner reads them",
        seed=49,
        faults="old_works old_works old_works old_works page_fails old_stops old_retry crash join",
    ),
)
