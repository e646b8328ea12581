"""A key of a page, and the files that are below a directory."""

KEY = "0a" * 12


def names(directory):
    return sorted(path.name for path in directory.rglob("*") if path.is_file())
