"""A database of journal articles behind a search form: sessions, captchas, and articles of labels and values."""

import json
import re

from fscrawl.site import Request, Site, Unexpected

COLUMNS = {"Authors": "authors", "Source": "source", "Published": "published", "DOI": "doi"}


class Journals(Site):
    hosts = ["127.0.80.1"]
    renew_after = 14  # a session of this site serves 15 lists; to open it takes one of them
    columns = {
        "heading": "string",
        "authors": "string[]",
        "source": "string",
        "published": "timestamp",
        "doi": "string",
        "labels": "string",
    }

    def open_session(self, session, send):
        """Search again: the site keeps in the session what was searched for last."""
        day, class_ = session.split()
        send("/start")
        self.expect(send(Request("/search", form={"day": day, "class": class_})))

    def expect(self, page):
        if page.headers.get("location", "").endswith("/login"):
            raise Unexpected("sent to the log-in", renew=True)
        if page.css("#captcha") or "location.replace(" in page.text:
            raise Unexpected("a captcha", renew=True)
        if not page.css("table.results, p.none, dl.article"):
            raise Unexpected("neither a list of results nor an article")

    def follow(self, page):
        yield from page.css("table.results a::attr(href)")
        for following in page.css("a.next::attr(href)"):
            yield Request(following, session=page.request.session)

    def fields(self, page):
        labels = dict(zip(page.css("dl.article dt"), page.css("dl.article dd")))
        if not labels:
            return {}  # a list
        values = {column: labels[label] for label, column in COLUMNS.items() if label in labels}
        if "authors" in values:
            values["authors"] = re.split(r";\s*", values["authors"])
        return {"heading": page.css("h1")[0], "labels": json.dumps(labels, ensure_ascii=False), **values}
