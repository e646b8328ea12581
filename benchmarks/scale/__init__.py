"""Fleets of up to a thousand machines in one process (see `__main__`)."""
