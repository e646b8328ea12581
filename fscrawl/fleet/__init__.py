"""Who holds what: heartbeats, leases, logs, snapshots, and the recovery of what a machine left behind."""
