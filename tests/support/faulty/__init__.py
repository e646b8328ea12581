"""The parts of the pass-through file system (see `tests.support.passthrough`)."""
