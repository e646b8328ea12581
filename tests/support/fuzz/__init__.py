"""Hostile bytes for the pure packages: nothing but the errors they promise, no second of CPU time, no growth.

Vocabulary:
  target       a package's functions as one function of bytes; what it promises is asserted in it
  fragment     bytes that mean something to a target; `%d` in it becomes a number, another one each time
  repetition   fragments again and again, to 200 KB: what takes more than linear time shows itself
  finding      an input that breaks the promise; it is kept as a file

`make fuzz SECONDS=60 TARGET="links text"` runs for so long for each target, guided by coverage where atheris can be
imported (pip install atheris). `python -m tests.support.fuzz TARGET FILE` runs one input again. `make test` has a fixed
budget.
"""
