"""A board of complaints: how many pages it has follows from the number of records that the first page names."""

import math
import re

from fscrawl.site import Site, Unexpected

FIRST = "http://127.0.80.2:8802/list"
A_PAGE = 30


class Complaints(Site):
    hosts = ["127.0.80.2"]
    item_columns = {
        "record": "integer",
        "received": "string",
        "department": "string",
        "subject": "string",
        "state": "string",
    }

    def seeds(self):
        yield FIRST

    def check(self, page):
        if not page.css("table.complaints"):
            raise Unexpected("no table of complaints")

    def requests(self, page):
        if page.url == FIRST:
            count = int(re.search(r"共([\d,]+)条记录", page.text)[1].replace(",", ""))
            for number in range(2, math.ceil(count / A_PAGE) + 1):
                yield f"/list?page={number}"

    def items(self, page):
        columns = [page.css(f"tr.record td:nth-child({number})") for number in range(1, 6)]
        for cells in zip(*columns):
            yield dict(zip(self.item_columns, cells))
