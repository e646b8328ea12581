"""How machines share one tree: who holds what, and who has said what.

    who is there        beat, heartbeat, machinery, anchor
    who holds what      assignment, ownership, handover
    who has said what   lines, log_writer, log_reader
    what counts         rules, rulebook, generations
    what is known       ledger, hearing, intake, survey, seeding, tidying
    a cache of it       snapshots, snapshot_file, housekeeping
    all together        membership, ending
    for people          status_file
    for commands        outside

The idea: each machine has a log. The state of a shard is a fold over all logs, and the order of lines does not matter.
See docs/design/fleet.md.
"""
