"""`fscrawl dashboard`: a web page that shows a crawl while it runs, and its pages.

Vocabulary:
  snapshot  the crawl at one moment, from heartbeat logs alone (`snapshot.Snapshot`)
  summary   what the page gets of a snapshot: a JSON object, sent again when it has changed
  stream    an answer that goes on: server-sent events, or one JSON object a line for a search
  control   the right to pause, resume, stop, retry and add seeds; it needs a token, which is printed at the start

Promise: the dashboard changes nothing without control. Stored pages are shown as text, or in a frame that runs no
script and loads nothing. If the tree is gone, the page says so, and goes on by itself when the tree is back.
"""
