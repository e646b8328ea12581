"""Who holds what: heartbeats, leases, feeds, and the recovery of what a machine left behind."""
