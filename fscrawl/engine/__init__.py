"""One machine at work: the main loop, the worker processes, progress and the watchdog."""

PRELOADED = ("fscrawl.engine.preload",)  # what the server loads from which workers are forked
