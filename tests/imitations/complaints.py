"""A board of complaints in GBK, as `examples/complaints` crawls it: a table of 30 a page, and no link to the next page.

Pages say that they are in gb2312, as such sites do, and have letters that only GBK has. At random the answer is a page
"busy" with status 200.
"""

from __future__ import annotations

import itertools
from typing import Any
from urllib.parse import parse_qs, urlsplit

from demo.server import Request, Response
from tests.imitations.frame import answer, missing, rng

A_PAGE = 30
SUBJECTS = ("路灯不亮", "噪音扰民", "朱镕路积水", "囍宴占道", "陈喆先生来信", "公交车晚点 <严重>", "“退款”问题")
STATES = ("已回复", "处理中", "")


class Complaints:
    host = "127.0.80.2"
    port = 8802
    is_ill = False

    def __init__(self, count: int = 1234) -> None:
        self._count = count
        self._answers = itertools.count(1)

    def __call__(self, request: Request) -> Response:
        parts = urlsplit(request.path)
        if parts.path != "/list":
            return missing()
        if rng("busy", next(self._answers)).random() < 0.08:
            return answer("<p>系统繁忙，请稍后再试</p>".encode("gbk"), "text/html")
        page = int(parse_qs(parts.query).get("page", ["1"])[0])
        return answer(self._page(page).encode("gbk"), "text/html")

    def _page(self, page: int) -> str:
        first = (page - 1) * A_PAGE + 1
        rows = "".join(map(_html_row, range(first, min(first + A_PAGE, self._count + 1))))
        head = f'<html><head><meta charset="gb2312"><title>投诉 第{page}页</title></head>'
        total = f"<p>共{self._count:,}条记录</p>"
        return f"{head}{total}<table class=complaints><tr><th>编号<th>日期<th>部门<th>内容<th>状态</tr>{rows}</table>"

    def stored(self) -> set[tuple[str, str]]:
        return {("/list", "")} | {(f"/list?page={page}", "") for page in range(2, -(-self._count // A_PAGE) + 1)}

    def rows(self) -> list[dict[str, Any]]:
        return [_row(number) for number in range(1, self._count + 1)]


def _row(number: int) -> dict[str, Any]:
    return {
        "record": str(number),
        "received": f"2024-{number % 12 + 1:02}-{number % 28 + 1:02}",
        "department": f"第{number % 9}科",
        "subject": SUBJECTS[number % len(SUBJECTS)],
        "state": STATES[number % len(STATES)],
    }


def _html_row(number: int) -> str:
    cells = (value.replace("<", "&lt;") for value in _row(number).values())
    return "<tr class=record>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
