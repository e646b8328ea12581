"""Small PDFs, made by hand: with text and links, and hostile ones."""

from __future__ import annotations

import zlib
from collections.abc import Sequence


def pdf(text: str = "", links: Sequence[str] = (), title: str = "", base: str = "") -> bytes:
    """Make a PDF of one page. `base`: of its relative links."""
    annotations = "".join(
        f"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI ({link}) >> >> " for link in links
    )
    stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode()
    root = f"<< /Type /Catalog /Pages 2 0 R {f'/URI << /Base ({base}) >>' if base else ''} >>"
    objects = [
        root.encode(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> /Annots [" + annotations.encode() + b"] >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        f"<< /Title ({title}) >>".encode(),
    ]
    return assembled(objects, b"/Info 6 0 R")


def assembled(objects: Sequence[bytes], trailer: bytes = b"") -> bytes:
    """Make a file of objects; the first is the catalog."""
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    count = len(objects) + 1
    return (
        made
        + b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF"
        % (
            count,
            table,
            count,
            trailer,
            len(made),
        )
    )


def endless_pages() -> bytes:
    """Make a PDF whose pages are among their own children."""
    return assembled([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 2 >>"])


def deep_pages(depth: int = 30) -> bytes:
    """Make a PDF of two to the power of `depth` pages, which are all the same."""
    levels = [b"<< /Type /Pages /Kids [%d 0 R %d 0 R] /Count 2 >>" % (n + 3, n + 3) for n in range(depth)]
    page = b"<< /Type /Page /MediaBox [0 0 9 9] >>"
    return assembled([b"<< /Type /Catalog /Pages 2 0 R >>", *levels, page])


def bomb(size: int = 300_000_000) -> bytes:
    """Make a PDF whose page has a content of some hundred megabytes, in layers of compression."""
    packer = zlib.compressobj(9)
    piece = b"BT (a) Tj ET\n" * 80_000
    packed = b"".join(packer.compress(piece) for _ in range(size // len(piece))) + packer.flush()
    packed = zlib.compress(packed, 9)
    content = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (len(packed), packed)
    return assembled(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>",
            content,
        ]
    )


def truncated() -> bytes:
    """Make the first half of a PDF with a link."""
    whole = pdf("text", ["http://a.example/x"])
    return whole[: len(whole) // 2]


HOSTILE = {
    "endless pages": endless_pages(),
    "deep pages": deep_pages(),
    "half": truncated(),
    "no objects": b"%PDF-1.4\n",
}
