"""A text from the web that tries to get out of its place, and the elements of a document."""

from __future__ import annotations

from collections import Counter
from xml.etree import ElementTree as ET

HOSTILE = "</title></td></svg><script>alert(1)</script><img src=x onerror=alert(2)>\"'><!--\x00\x1b[31m\u202e]]>&amp;"


def tags(document: ET.Element) -> Counter[str]:
    return Counter(str(element.tag).rpartition("}")[2] for element in document.iter())
