"""A crawl of pages in a browser, as a short script with Playwright does it. Playwright's interpreter runs it.

python playwright_loop.py BROWSER SEED PAGES AT_A_TIME      prints how many pages it opened, and how many had their text
"""

import asyncio
import re
import sys
from urllib.parse import urljoin

from playwright.async_api import async_playwright

BROWSER, SEED, PAGES, AT_A_TIME = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])


async def main() -> None:
    known, opened, good, room = {SEED}, 0, 0, asyncio.Semaphore(AT_A_TIME)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        todo = asyncio.Queue()
        todo.put_nowait(SEED)
        running = set()

        async def visit(url: str) -> None:
            nonlocal opened, good
            context = await browser.new_context()
            page = await context.new_page()
            await page.goto(url, wait_until="networkidle")
            html = await page.content()
            await context.close()
            opened += 1
            good += "<h1>" in html
            for link in re.findall(r'href="(/[^"]*)"', html):
                target = urljoin(url, link)
                if target not in known and len(known) < PAGES:
                    known.add(target)
                    todo.put_nowait(target)
            room.release()

        while not todo.empty() or running:
            if todo.empty():
                await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                running = {task for task in running if not task.done()}
                continue
            await room.acquire()
            running.add(asyncio.create_task(visit(todo.get_nowait())))
        await browser.close()
    print(opened, good)


asyncio.run(main())
