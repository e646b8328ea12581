"""The columns that every dataset has, so that no field may be called so. Pure.

`dataset.schema` has them with their types, but needs a library that a crawl does not.
"""

from __future__ import annotations

OF_PAGES = frozenset(
    {
        *(
            "url",
            "url_surtkey",
            "url_host_name",
            "url_host_registered_domain",
            "key",
            "page_version",
            "method",
            "request_body",
            "depth",
        ),
        *(
            "referrer",
            "fetch_time",
            "fetch_status",
            "fetch_redirect",
            "skipped",
            "content_mime_type",
            "content_charset",
            "encoding_source",
        ),
        *("content_languages", "content_digest", "sha256", "bytes", "elapsed", "machine", "check_time", "check_status"),
        *(
            "rendered",
            "rendered_html",
            "label",
            "title",
            "canonical",
            "robots",
            "noindex",
            "outlinks",
            "duplicate_of",
            "near_duplicate_of",
        ),
        *("headers", "text", "html", "file", "body", "ip"),
    }
)
OF_ITEMS = frozenset({"url", "key", "page_version", "position"})
