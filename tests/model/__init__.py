"""An executable model of the fleet's protocol (tree format 2): logs, told marks, terms, snapshots, leases, the end.

    python -m tests.model [SCHEDULES] [SEED]          explore: no violation may be found (`make model SCHEDULES=…`)
    python -m tests.model mutate [SCHEDULES] [RULE…]  leave out one rule at a time: a violation must be found
    python -m tests.model replay SEED [RULE]          tell what happens in one schedule, without the rule
    python -m tests.model minimise SEED [RULE]        the same, with as few steps as it takes

A schedule is a seed. It has a small web, one to three machines (more join), and an adversary who chooses who does what,
how old what they see is, and what goes wrong. Then comes a fair part in which the crawl must end, three times, with an
edit, a retry or a refresh between.

Vocabulary: see `lines.py` for terms and lines, `share.py` for files, `machine.py` for what a machine knows, `fold.py`
for what logs say of a shard. A machine's actions stand in `sending`, `reading`, `taking`, `working`, `leases`,
`keeping`, `ending` and `joining`. `faults.py` is the adversary. `rules.py` is the table of the rules.

Invariants, by the number with which a violation begins:

    1  Nothing is missing when a machine leaves: all that can be reached from the seeds over stored pages is stored, or
       has an error record, or its host has its pages. If no fault lost a way to them, stored pages that nothing links
       to count, too.
    2  In the fair part, the crawl ends.
    3  No machine sends a request for a shard that has passed on, or that is in flight elsewhere.
    4  Nothing is fetched twice, except for what was in flight at a fault, a retry, or a refresh.
    5  A host's rest is kept, also across a hand-over.
    6  What a retry or a refresh asked for was asked for at the host.
    7  No host has more pages than `max_pages_per_host`, but for those that a taker could not count yet.

What is given and not modelled, because tests/component/test_leases.py has it: how a machine is taken for dead. Here
only those are whose permit is over. What people must do: nobody starts a machine while permits of a backup's first
owners hold, and a backup is older than the last beats. A retry whose log is cut, or that a restored backup does not
have, is lost. Not modelled: robots.txt, pace, `max_hosts_per_domain`, `partition`, files damaged in the middle.

The table of the rules is `rules.py`: what each says, and the first schedule that fails without it. Those without one
say why, or that they were found by thought only. Measured: about 200 schedules, or 100,000 steps, per second of
processor time.
"""
