"""How a site is crawled, written in Python: what `fscrawl crawl --site FILE` loads.

    from fscrawl.site import Answer, Request, Site, Unexpected, dates

    class Journals(Site):
        hosts = ["search.example"]
        renew_after = 15

        def seeds(self):
            for day in dates("2024-01-01", "2024-12-31"):
                yield Request("https://search.example/find", form={"day": day}, session=day)

        def open_session(self, session, send):
            send("https://search.example/start")

        def expect(self, page):
            if page.css("#captcha"):
                raise Unexpected("a captcha", renew=True)

        follow = ["css:a.hit"]
        fields = {"heading": "css:h1", "authors": {"css": ".author", "type": "string[]"}}

What a [[site]] table of crawl.toml can say is written in the same way here; `Site` has all of it.

All methods but `open_session` are pure functions of what they are given. They may be called again, in any process and
in any order, also long after the page was fetched, and must give the same. So a stored page can be understood again
when FILE has changed, and each method can be tried in a notebook:
`Journals().expect(Answer("https://a.example/1", html))`.

A site does not get pages of other hosts. What is not overridden does what a crawl without FILE does.

An exception of a method is a failure of that page, of class `site`, with the line of FILE. So is a value of a wrong
type. A method that takes too long is ended, and is a failure of class `parse`. No other page is hurt.

Promise: nothing that stands in a tree is ever run. FILE is read by each machine from where its command says.
"""

from fscrawl.request import Request
from fscrawl.sites.site import Answer, NoAnswer, Seed, Send, Site, Unexpected, dates

__all__ = ["Answer", "NoAnswer", "Request", "Seed", "Send", "Site", "Unexpected", "dates"]
