"""The report as one HTML file: no script, no picture, no font, no requests. Pure.

Vocabulary:
  section   a heading with plots and tables; an empty one is left out
  cell      the markup of one field of a table

Promise: all text from the web goes through `escaped`, and only http and https URLs become links. A policy in the head
forbids scripts and requests, too. The file can be read in light, dark and print.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from fscrawl import urls
from fscrawl.fleet.label_figures import LabelFigure, summed
from fscrawl.http.error_classes import CLASSES
from fscrawl.monitor.machine_status import MachineStatus
from fscrawl.monitor.report import svg
from fscrawl.monitor.report.svg import cut, escaped
from fscrawl.monitor.report.timeline import Timeline
from fscrawl.monitor.report.totals import Duplicate, Fact, Host, Totals
from fscrawl.monitor.state import CrawlState
from fscrawl.request import shown
from fscrawl.storage.records import timestamp
from fscrawl.util.humanize import DAY_S, count, number_of, size, span

TOP_HOSTS = 20
_TOP_BARS = 12
_FEW_RECORDS = 3  # a host with fewer records is not listed as slow
_URL_CHARS = 100
_TEXT_CHARS = 200

STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1c2128;--faint:#59636e;--rule:#d8dee4;--accent:#1f6feb;
--soft:#1f6feb26}
@media (prefers-color-scheme:dark){:root{--back:#14181d;--text:#e6edf3;--faint:#9aa4af;--rule:#343b44;--accent:#6cb0ff;
--soft:#6cb0ff33}}
*{box-sizing:border-box}body{margin:0 auto;padding:1.5rem;max-width:64rem;background:var(--back);color:var(--text);
font:15px/1.5 system-ui,sans-serif}h1{font-size:1.6rem;margin:0}h2{font-size:1.2rem;margin:2.5rem 0 .5rem;
border-bottom:1px solid var(--rule)}h3{font-size:1rem;margin:1.2rem 0 .3rem}p{margin:.3rem 0}.faint{color:var(--faint)}
a{color:var(--accent)}.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(26rem,100%),1fr));
gap:0 2rem}
dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:1rem;margin:1.5rem 0}dt{color:var(--faint)}
dd{margin:0;font-size:1.4rem;font-variant-numeric:tabular-nums}.wide{overflow-x:auto}table{border-collapse:collapse;
width:100%;font-variant-numeric:tabular-nums}caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--rule);
overflow-wrap:anywhere}td:not(.n){min-width:8rem}th{font-weight:600}.n{text-align:right;white-space:nowrap}svg{display:block;width:100%;height:auto}
svg text{fill:var(--text);font-size:12px}.grid{stroke:var(--rule)}.line{fill:none;stroke:var(--accent);stroke-width:1.5}
.area{fill:var(--soft)}.bar{fill:var(--accent)}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
@media print{body{max-width:none;padding:0;font-size:11px}section{break-inside:avoid-page}h2{break-after:avoid}
.wide{overflow:visible}a{color:inherit}}
"""


@dataclass(frozen=True, slots=True)
class Report:
    """The contents of a report.

    `shown`: duplicates, each with a record; `made_at`: UNIX time; `pending`: URLs by label, as machines say.
    """

    root: str
    crawl: str
    made_at: float
    state: CrawlState
    totals: Totals
    timeline: Timeline
    same_pages: int
    same_bodies: int
    shown: Sequence[tuple[Duplicate, Fact]]
    pending: Mapping[str, int]


def render(report: Report) -> str:
    """Give the whole file."""
    totals, timeline = report.totals, report.timeline
    sections = (
        _section("Over time", _curves(timeline)),
        _section("Labels", _labels(totals.labels, report.pending)),
        _section("Hosts", _hosts(totals.hosts)),
        _section("Depth", _depths(totals.depths)),
        _section("Answers", _answers(totals)),
        _section("Sizes", _sizes(totals)),
        _section("Failures", _errors(totals)),
        _section("Redirects", _redirects(totals)),
        _section("Duplicates", _duplicates(report)),
        _section("Slow answers", _slow(totals)),
        _section("Machines", _machines(timeline.machines)),
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>Crawl {escaped(report.crawl)}</title><style>{STYLE}</style></head><body>\n"
        f"{_head(report)}<main>{''.join(sections)}</main></body></html>\n"
    )


def _head(report: Report) -> str:
    totals = report.totals
    reached = f", fetched {escaped(totals.first)} to {escaped(totals.last)}" if totals.first else ""
    torn = (
        f"<p>{number_of(totals.unreadable, 'record')} could not be read: fscrawl audit</p>" if totals.unreadable else ""
    )
    tiles = {
        "pages": count(totals.kinds["page"]),
        "bytes": size(totals.bytes),
        "hosts": count(len(totals.hosts)),
        "failures": count(totals.errors.total()),
        "redirects": count(totals.kinds["redirect"]),
        "other types": count(totals.kinds["other"]),
        "links": count(totals.links),
        "duplicates": count(report.same_pages - report.same_bodies),
        "machines": count(len(report.timeline.machines)),
        "time": _lasted(report.timeline),
    }
    return (
        f"<header><h1>Crawl {escaped(report.crawl)}</h1>"
        f'<p class="faint">{escaped(report.root)}{reached}; report of {timestamp(report.made_at)}</p>'
        f"<p>The crawl is {report.state}: {report.state.meaning}.</p>{torn}"
        f"<dl>{''.join(f'<div><dt>{name}</dt><dd>{value}</dd></div>' for name, value in tiles.items())}</dl></header>"
    )


def _lasted(timeline: Timeline) -> str:
    return span(timeline.edges[-1] - timeline.edges[0]) if timeline.edges else "–"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>\n" if content else ""


# -- sections


def _curves(timeline: Timeline) -> str:
    if not timeline.edges:
        return ""
    lasted_s = timeline.edges[-1] - timeline.edges[0]

    def moment(at: float) -> str:
        form = "%H:%M:%S" if lasted_s < 600 else "%H:%M" if lasted_s < 2 * DAY_S else "%b %d"
        return datetime.fromtimestamp(at, UTC).strftime(form)

    plots = (
        ("pages", "Pages", timeline.of("pages"), count),
        ("errors", "Failures", timeline.of("errors"), count),
        ("bytes", "Bytes", timeline.of("bytes"), size),
        ("pending", "Pending URLs", timeline.of("pending"), count),
    )
    speed = svg.line_chart("speed", "Pages a second", timeline.speed("pages"), lambda value: f"{value:,.3g}", moment)
    shown = [_plot(speed, "Pages a second")]
    for slug, title, points, told in plots:
        shown.append(_plot(svg.line_chart(slug, title, points, told, moment, whole=True), title))
    return '<p class="faint">By the heartbeats of all machines; times are UTC.</p>' + _plots(*shown)


def _plot(plot: str, title: str) -> str:
    return f"<div><h3>{escaped(title)}</h3>{plot}</div>" if plot else ""


def _plots(*plots: str) -> str:
    return f'<div class="plots">{"".join(plots)}</div>' if any(plots) else ""


def _hosts(hosts: dict[str, Host]) -> str:
    def top(of: str, told: str) -> list[svg.Row]:
        best = sorted(hosts.items(), key=lambda item: (-getattr(item[1], of), item[0]))[:_TOP_BARS]
        form = size if of == "bytes" else count
        return [
            svg.Row(urls.shown_host(name), getattr(host, of), f"{form(getattr(host, of))}{told}")
            for name, host in best
            if getattr(host, of)
        ]

    plots = _plots(
        _plot(svg.bars("hosts-pages", "Hosts with most pages", top("pages", "")), "Most pages"),
        _plot(svg.bars("hosts-bytes", "Hosts with most bytes", top("bytes", "")), "Most bytes"),
        _plot(svg.bars("hosts-errors", "Hosts with most failures", top("errors", "")), "Most failures"),
    )
    named = sorted(hosts.items(), key=lambda item: (-item[1].pages, -item[1].errors, item[0]))[:TOP_HOSTS]
    rows = [
        (
            escaped(urls.shown_host(name)),
            f"{host.pages:,}",
            size(host.bytes),
            f"{host.errors:,}",
            f"{host.elapsed_s / host.records:,.2f} s" if host.records else "",
        )
        for name, host in named
    ]
    return plots + _table(
        f"{len(rows)} of {number_of(len(hosts), 'host')}",
        ("host", "#pages", "#bytes", "#failures", "#mean answer"),
        rows,
    )


def _labels(labels: Mapping[str, LabelFigure], pending: Mapping[str, int]) -> str:
    found = summed([labels, {label: LabelFigure(pending=number) for label, number in pending.items()}])
    rows = [
        (escaped(label), *(f"{number:,}" for number in (each.found, each.stored, each.failed, each.pending)))
        for label, each in sorted(found.items())
    ]
    said = "Stored and failed by the records, pending by the heartbeats; found has redirects and other types, too"
    return _table(said, ("label", "#found", "#stored", "#failed", "#pending"), rows)


def _depths(depths: Counter[int]) -> str:
    named = sorted(depths.items())
    rows: list[svg.Row] = [svg.Row(str(depth), number, f"{number:,}") for depth, number in named[: 2 * _TOP_BARS]]
    rest = sum(number for _, number in named[2 * _TOP_BARS :])
    rows += [svg.Row("deeper", rest, f"{rest:,}")] if rest else []
    return _plots(_plot(svg.bars("depth", "Records by links from a seed", rows), "Links from a seed"))


def _most_common(counter: Counter[str] | Counter[int]) -> list[svg.Row]:
    return [svg.Row(str(name), number, f"{number:,}") for name, number in counter.most_common(_TOP_BARS)]


def _answers(totals: Totals) -> str:
    return _plots(
        _plot(svg.bars("status", "Records by HTTP status", _most_common(totals.statuses)), "HTTP status"),
        _plot(svg.bars("types", "Records by content type", _most_common(totals.types)), "Content types"),
        _plot(svg.bars("skipped", "Records without body, by reason", _most_common(totals.reasons)), "Without body"),
    )


def _sizes(totals: Totals) -> str:
    if not totals.sizes:
        return ""
    bits = range(min(totals.sizes), max(totals.sizes) + 1)
    rows = [svg.Row(_range_of(bit), totals.sizes[bit], f"{totals.sizes[bit]:,}") for bit in bits]
    pages = [
        (size(rank), _link(fact.url), escaped(cut(fact.title, _TEXT_CHARS))) for rank, fact in totals.largest.items()
    ]
    plot = _plot(svg.bars("sizes", "Pages by size of the body", rows), "Size of the body")
    return _plots(plot) + _table("Largest pages", ("#bytes", "URL", "title"), pages)


def _range_of(bits: int) -> str:
    """Name the range of sizes with this number of bits.

    >>> _range_of(0), _range_of(1), _range_of(11)
    ('empty', '1 B', '1.0 kB to 2.0 kB')
    """
    return "empty" if not bits else "1 B" if bits == 1 else f"{size(1 << (bits - 1))} to {size(1 << bits)}"


def _errors(totals: Totals) -> str:
    if not totals.errors:
        return ""
    rows = [
        (
            f"<strong>{escaped(name)}</strong><br>{escaped(CLASSES.get(name, ''))}",
            f"{number:,}",
            "<br>".join(
                f'{_link(each.url)} <span class="faint">{escaped(cut(each.message, _TEXT_CHARS))}</span>'
                for each in totals.examples.get(name, ())
            ),
        )
        for name, number in totals.errors.most_common(2 * _TOP_BARS)
    ]
    plot = _plot(svg.bars("classes", "Failed URLs by class", _most_common(totals.errors)), "By class")
    return _plots(plot) + _table("With examples", ("class", "#URLs", "examples"), rows)


def _redirects(totals: Totals) -> str:
    if not totals.redirects:
        return ""
    total = totals.redirects.total()
    targets = [row._replace(label=urls.shown_host(row.label)) for row in _most_common(totals.targets)]
    return f"<p>{number_of(total, 'redirect')}, {totals.elsewhere:,} of them to another host.</p>" + _plots(
        _plot(svg.bars("redirects", "Redirects by status", _most_common(totals.redirects)), "By status"),
        _plot(svg.bars("targets", "Other hosts that were redirected to", targets), "To other hosts"),
    )


def _duplicates(report: Report) -> str:
    if not report.same_bodies:
        return ""
    rows = [
        (f"{each.pages:,}", size(fact.bytes), _link(fact.url), escaped(cut(fact.title, _TEXT_CHARS)))
        for each, fact in report.shown
    ]
    said = (
        f"{report.same_pages - report.same_bodies:,} pages have the body of another page;"
        f" {report.same_pages:,} pages share {report.same_bodies:,} bodies."
    )
    return f"<p>{said}</p>" + _table("Most frequent", ("#pages", "#bytes", "one of them", "title"), rows)


def _slow(totals: Totals) -> str:
    slow = [
        (host.elapsed_s / host.records, name, host)
        for name, host in totals.hosts.items()
        if host.records >= _FEW_RECORDS
    ]
    slow.sort(key=lambda entry: (-entry[0], entry[1]))
    rows: list[svg.Row] = [
        svg.Row(urls.shown_host(name), mean_s, f"{mean_s:,.2f} s, most {host.slowest_s:,.2f} s")
        for mean_s, name, host in slow[:_TOP_BARS]
    ]
    pages = [(f"{rank:,.2f} s", _link(fact.url), size(fact.bytes)) for rank, fact in totals.slowest.items()]
    plot = _plot(svg.bars("slow", "Hosts by mean time of an answer", rows), "Hosts, by mean time from request to end")
    return _plots(plot) + _table("Slowest answers", ("#time", "URL", "#bytes"), pages)


def _machines(machines: Iterable[MachineStatus]) -> str:
    rows = [
        (
            escaped(machine.name),
            timestamp(machine.greeted_at) if machine.greeted_at else "",
            timestamp(machine.seen_at),
            "left" if machine.left else "no goodbye",
            f"{machine.last.pages:,.0f}",
            size(machine.last.bytes),
            f"{sum(machine.last.errors.values()):,.0f}",
        )
        for machine in machines
    ]
    return _table("By their heartbeats", ("machine", "from", "to", "end", "#pages", "#bytes", "#failures"), rows)


# -- markup


def _table(caption: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give a table; its cells are markup. A head that begins with # is a column of numbers. "" without rows."""
    if not rows:
        return ""
    kinds = ['class="n"' if head.startswith("#") else "" for head in heads]
    head = "".join(f'<th scope="col" {kind}>{name.lstrip("#")}</th>' for name, kind in zip(heads, kinds, strict=True))
    body = "".join(
        f"<tr>{''.join(f'<td {kind}>{cell}</td>' for cell, kind in zip(row, kinds, strict=True))}</tr>" for row in rows
    )
    named = escaped(caption)
    return (
        f'<div class="wide" tabindex="0" role="group" aria-label="{named}"><table><caption>{named}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _link(url: str) -> str:
    """Give a URL as a link, or as text if it is not http or https, or a request."""
    text = escaped(cut(shown(url), _URL_CHARS))
    if "#" in url or not url.startswith(("http://", "https://")):  # a link would not send the request
        return text
    return f'<a rel="noreferrer nofollow" href="{escaped(url)}">{text}</a>'
