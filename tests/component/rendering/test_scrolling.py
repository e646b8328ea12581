"""Lists that grow when somebody scrolls (`render.scroll`)."""

from __future__ import annotations

import pytest

from fscrawl.render.messages import Answer, Ask
from tests.support.keepers import Keeper, done

LIST = """<!DOCTYPE html><body style="margin: 0"><div id=list></div><div id=end style="height: 1px"></div><script>
let page = 0, isBusy = false;
async function more() {
  if (isBusy) return;
  isBusy = true;
  const items = await (await fetch("/list?page=" + page++)).json();
  list.append(...items.map(n => Object.assign(document.createElement("p"),
    {textContent: "item " + n, style: "height: 60px; margin: 0"})));
  isBusy = false;
}
GROWS
</script>"""
BY_OBSERVER = "new IntersectionObserver(seen => { if (seen[0].isIntersecting) more() }).observe(end);"
BY_EVENT = "more(); onscroll = () => { if (scrollY + innerHeight > document.body.offsetHeight - 50) more() };"
A_PAGE, PAGES = 10, 4


def serve(ask: Ask) -> Answer:
    number = int(ask.url.partition("=")[2])
    items = list(range(number * A_PAGE, (number + 1) * A_PAGE)) if number < PAGES else []
    return Answer(ask.number, 200, (("content-type", "application/json"),), str(items).encode())


@pytest.mark.parametrize("quirks", ["", "<!-- quirks -->"])
@pytest.mark.parametrize("grows", [BY_OBSERVER, BY_EVENT])
def test_a_list_that_is_lower_than_the_window(keeper: Keeper, grows: str, quirks: str) -> None:
    """The first items of a list often fill no large window, so that it could not be scrolled."""
    page = LIST.replace("GROWS", grows).replace("<!DOCTYPE html>", quirks or "<!DOCTYPE html>")
    assert done(keeper.page(page, serve)).dom.count(b">item ") == A_PAGE
    found = done(keeper.page(page, serve, scroll=PAGES, screenshot=True))
    assert found.dom.count(b">item ") == A_PAGE * PAGES
    assert int.from_bytes(found.screenshot[20:24]) == 2000  # the height of the window is as before
