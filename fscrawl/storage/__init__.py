"""How a file gets onto the share: names and paths, records, publishing a file whole, and trying again after a fault."""
