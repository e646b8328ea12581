"""Power loss: what may be on the disk after it, from the recorded calls of real crawls.

Vocabulary:
  operation   one call that changes the file system, or makes a change durable; `passthrough` records it
  point       a place between two operations: the power goes there
  strict      what POSIX promises and no more: fsync of a file keeps its data, fsync of a directory its entries
  journal     what ext4 and xfs do: entries reach the disk in their order, and any fsync takes all earlier ones along
  told        somebody could know of it: a promise that it is stored has been given

`operations` reads a recording, `disk` is the model, `history` what was published and told, `verdict` what must hold,
`recording` makes the material, `aftermath` starts the crawl again on what was left.
"""
