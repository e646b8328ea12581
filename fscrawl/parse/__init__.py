"""From bytes to links, text, fields and media types: pure functions, without disk and socket."""
