"""How does a page look when its scripts have run? A Chromium of the system, which has no network of its own.

    worker ── Job ──▶ keeper ── DevTools, over a pipe ──▶ browser
           ◀── Ask ──        ◀── a request that waits ──
           ── Answer ──▶     ── the answer ──▶
           ◀── Rendered ──

A *keeper* is a process that starts one browser, and renews it (`keeper`). A worker that has fetched a page sends it to
a keeper as a `Job` (`client`). Whatever the browser wants to load then comes back to the worker as an `Ask`, and the
worker decides and fetches by the rules that hold for all its requests (`handlers/rendering.py`). So neither the browser
nor its keeper knows a password, and what the guard of `http` refuses is not connected to.

The browser's proxy is a port of the keeper that refuses everything, and it resolves no names: what does not come
through DevTools, such as WebSockets, leads nowhere (`keeper.refuse_all`).
"""
