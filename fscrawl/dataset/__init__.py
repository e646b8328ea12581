"""From the tree to files that other people's tools open. The flow is in `fscrawl.merge`; here are its parts.

Vocabulary:
  dataset   the directory that is made: tables, archives, `manifest.json`, a card `README.md`; its state in `.merge/`
  run       one merge to its end; a further one exports what the tree has gained since, and changes no earlier part
  plan      the pages of a run: hosts in order, keys in order within a host
  batch     a stretch of the plan, read from the tree in one go; its rows go to a file of the run (`gather`)
  verdict   what is decided of a row once all rows of the run are known: kept or not, a duplicate of what (`judge`)
  group     consecutive batches that become one part of each table, or one segment of an archive (`write`)
  part      a file of the dataset: written under a temporary name and renamed, never changed afterwards

Promise: each step is a function of what is before it (a batch of its stretch of the plan and the tree's files, a group
of its batches and verdicts), and its result appears whole or not at all. So a run that is killed goes on where it was,
and ends with the files of one that was not.
"""
