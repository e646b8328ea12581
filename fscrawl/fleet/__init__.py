"""How machines share one tree: who holds what, and who has said what.

    who is there        beat, heartbeat, logs, anchor
    who holds what      leases, assignment, ownership, handover, fence
    who has said what   lines, blocks, log_writer, log_reader (log_window, url_logs), command_log
    what counts         rules, rulebook, generations
    what is known       ledger, hearing, intake, survey (recovery), url_state, tidying
    a cache of it       snapshots (snapshot_file, snapshot_merge), housekeeping
    all together        membership, ending
    for readers only    all_lines

The idea: each machine has a log. The state of a shard is a fold over all logs, and the order of lines does not matter.
See docs/design/fleet.md.
"""
