"""From the tree to files that other tools can open. `fscrawl.merge` has the steps in order; their parts are here.

Vocabulary:
  dataset   the directory that is made: tables, archives, `manifest.json`, papers; its state is in `.merge/`
  run       one merge from start to end; a later run adds what is new in the tree, and changes no earlier part
  plan      the pages of a run, sorted by host and then by key
  batch     a stretch of the plan that is read from the tree at once; its rows go to a file of the run (`extract`)
  verdict   what is decided about a row when all rows of the run are known: is it kept, is it a duplicate (`dedupe`)
  group     consecutive batches that become one part of each table, and one archive (`write`)
  part      a file of the dataset: written under a temporary name, then renamed, and never changed afterwards

Promise: the result of a step depends only on the results before it and on the tree's files: a batch on its stretch of
the plan, a group on its batches and verdicts. It appears whole or not at all. So a run that is killed continues where
it was, and ends with the same files as a run that was not killed.
"""
