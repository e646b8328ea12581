"""One machine at work: the main loop, the worker processes, progress and the watchdog."""
