"""Random schedules of the real code of a fleet, over a share in memory that shows old states.

    python -m tests.component.schedules [--seconds N] [--from SEED]       explore: no violation may be found
    python -m tests.component.schedules --replay SEED [--without NAME]    tell what happens in one schedule
    python -m tests.component.schedules --mutate [NAME …] [--seconds N]   break the code: it must be found

`--faults "crash join"`: only these, by their names in `faults.py`.

`engine.machine`, its fleet, frontier, handlers and storage run as they are. What is replaced stands in `patches.py`:
the calls on files, clocks and sleep, threads, worker processes and the network. A schedule is a seed. It has a small
web, one to three machines (more join), and an adversary who chooses who does what, how old what they see is, and what
goes wrong. Then comes a fair part in which the crawl must end, three times, twice after a change.

    share.py      the files, and how old the view of each machine is
    member.py     a machine: its main loop, its heart and its workers, each a step at a time
    world.py      the web, the clock, and what is checked
    faults.py     the adversary
    schedule.py   a schedule
    broken.py     what is broken on purpose
    breakages.py  the seed that finds each of these

Invariants, by the number with which a violation begins:

    1  Nothing is missing when the crawl is over: all that can be reached from the seeds is stored, or has an error.
    2  In the fair part, the crawl ends.
    3  No machine asks a host whose shard another machine holds, or could still fetch from.
    4  Nothing is fetched twice, except for what was in flight at a fault, a retry, or a refresh.
    5  What a retry or a refresh asked for was asked for at the host.
    6  Nobody writes to a log that is not its own.
    7  No machine fails by an error that it should have expected.

What is given: heartbeats are never older than 15 s, since a claim rests on them. What is not here: robots.txt, pace,
`partition = "url"`, limits of pages and hosts, files damaged in the middle, restored backups. A machine may
stand still between two steps of its main loop, within an exchange, or while a record is stored, but not within a claim.
"""
