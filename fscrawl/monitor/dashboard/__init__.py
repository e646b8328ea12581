"""`fscrawl dashboard`: a web page that shows a crawl while it runs, and its pages.

Vocabulary:
  view      a look at the crawl, from heartbeat logs alone (`survey.Snapshot`)
  state     what the page is told of a view: a JSON object, sent again whenever it has changed
  stream    an answer that goes on: server-sent events, or one JSON object a line for a search
  control   the right to pause, resume, stop, retry and add seeds: a token that only the one who started it is shown

Promise: looking changes nothing. What was stored of the web is shown as text, or in a frame that runs no script and
loads nothing. A tree that is gone is a line on the page, and the page goes on by itself when it is back.
"""
