"""A board of complaints: how many pages it has follows from the number of records that the first page names."""

import math
import re

from fscrawl.site import Site

FIRST = "http://127.0.80.2:8802/list"
A_PAGE = 30


class Complaints(Site):
    hosts = ["127.0.80.2"]
    seeds = FIRST
    expect = "css:table.complaints"
    items = {
        "each": "css:tr.record",
        "fields": {
            "record": {"css": "td:nth-child(1)", "type": "integer"},
            "received": "css:td:nth-child(2)",
            "department": "css:td:nth-child(3)",
            "subject": "css:td:nth-child(4)",
            "state": "css:td:nth-child(5)",
        },
    }

    def follow(self, page):
        if page.url == FIRST:
            count = int(re.search(r"共([\d,]+)条记录", page.text)[1].replace(",", ""))
            return [f"/list?page={number}" for number in range(2, math.ceil(count / A_PAGE) + 1)]
        return []
