"""The extension of a document's file in the tree, by its media type. Pure.

The table is part of the tree's format: docs/design/tree-format.md has it, too, and a record says which extension its
body has got. So it may grow, and the files that there are stay where they are.
"""

from __future__ import annotations

OTHERS = "bin"
_DOCUMENT = "application/vnd.openxmlformats-officedocument"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument"
EXTENSIONS = {
    "pdf": ("application/pdf",),
    "json": ("application/json", "text/json", "application/ld+json", "application/geo+json", "application/feed+json"),
    "jsonl": ("application/jsonl", "application/x-ndjson", "application/x-jsonlines"),
    "xml": ("application/xml", "text/xml"),
    "rss": ("application/rss+xml",),
    "atom": ("application/atom+xml",),
    "rdf": ("application/rdf+xml",),
    "txt": ("text/plain",),
    "csv": ("text/csv",),
    "tsv": ("text/tab-separated-values",),
    "md": ("text/markdown",),
    "css": ("text/css",),
    "js": ("text/javascript", "application/javascript", "application/x-javascript"),
    "ics": ("text/calendar",),
    "vtt": ("text/vtt",),
    "jpg": ("image/jpeg", "image/jpg", "image/pjpeg"),
    "png": ("image/png",),
    "gif": ("image/gif",),
    "webp": ("image/webp",),
    "avif": ("image/avif",),
    "svg": ("image/svg+xml",),
    "bmp": ("image/bmp",),
    "tif": ("image/tiff",),
    "ico": ("image/x-icon", "image/vnd.microsoft.icon"),
    "mp3": ("audio/mpeg", "audio/mp3"),
    "m4a": ("audio/mp4", "audio/x-m4a"),
    "wav": ("audio/wav", "audio/wave", "audio/x-wav"),
    "ogg": ("application/ogg", "audio/ogg"),
    "flac": ("audio/flac", "audio/x-flac"),
    "mp4": ("video/mp4",),
    "webm": ("video/webm", "audio/webm"),
    "ogv": ("video/ogg",),
    "avi": ("video/avi", "video/x-msvideo"),
    "mov": ("video/quicktime",),
    "zip": ("application/zip", "application/x-zip-compressed"),
    "gz": ("application/gzip", "application/x-gzip"),
    "bz2": ("application/x-bzip2",),
    "xz": ("application/x-xz",),
    "zst": ("application/zstd",),
    "7z": ("application/x-7z-compressed",),
    "rar": ("application/x-rar-compressed", "application/vnd.rar"),
    "tar": ("application/x-tar",),
    "doc": ("application/msword",),
    "docx": (f"{_DOCUMENT}.wordprocessingml.document",),
    "xls": ("application/vnd.ms-excel",),
    "xlsx": (f"{_DOCUMENT}.spreadsheetml.sheet",),
    "ppt": ("application/vnd.ms-powerpoint",),
    "pptx": (f"{_DOCUMENT}.presentationml.presentation",),
    "odt": (f"{_OPEN_DOCUMENT}.text",),
    "ods": (f"{_OPEN_DOCUMENT}.spreadsheet",),
    "odp": (f"{_OPEN_DOCUMENT}.presentation",),
    "rtf": ("application/rtf", "text/rtf"),
    "epub": ("application/epub+zip",),
    "ps": ("application/postscript",),
    "tex": ("application/x-tex", "text/x-tex"),
    "woff": ("font/woff",),
    "woff2": ("font/woff2",),
    "wasm": ("application/wasm",),
    "warc": ("application/warc",),
}
_BY_TYPE = {each: extension for extension, types in EXTENSIONS.items() for each in types}
_BY_SUFFIX = {"json": "json", "xml": "xml", "zip": "zip"}  # of structured syntaxes: RFC 6839
# What is text whatever it says: a reader may decode it.
TEXTS = frozenset(
    {
        *("json", "jsonl", "xml", "rss", "atom", "rdf", "svg"),
        *("txt", "csv", "tsv", "md", "css", "js", "ics", "vtt", "tex"),
    }
)


def extension(media_type: str) -> str:
    """Give the extension of the files of a type.

    >>> extension("application/pdf"), extension("application/problem+json"), extension("application/x-unheard-of")
    ('pdf', 'json', 'bin')
    """
    found = _BY_TYPE.get(media_type) or _BY_SUFFIX.get(media_type.rpartition("+")[2] if "+" in media_type else "")
    return found or ("txt" if media_type.startswith("text/") else OTHERS)
