"""The snapshots of a tree."""

from __future__ import annotations


class Archive:
    def __init__(self, files, logs, machine): ...
    def newest(self, shard):
        return None

    def size_of(self, shard):
        return 0

    def make(self, shard, epoch, ends, term): ...
    def remove_old(self, age_s): ...
