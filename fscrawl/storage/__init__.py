"""How a file gets onto the share: records, publishing a file whole, and trying again when the share has a fault."""
