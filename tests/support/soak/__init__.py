"""Ten machines on one tree for half an hour, with every fault at random: `python -m tests.support.soak --minutes 30`.

Vocabulary:
  slot       a place for a machine: its mount, and the machines that ran there one after another
  machine    one run of crawl.py; `<slot>.<n>` names the n-th of a slot, to the web too (header X-Machine)
  share      how a slot sees the tree: the local disk, our FUSE pass-through, sshfs
  fault      something done to a machine, to its share or to the tree, with the time it lasted

Promise: it ends by itself, leaves nothing behind but the tree of a run that failed, and exits with 1 on any loss.
"""
