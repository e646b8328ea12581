"""Which real pages does the rule of `render.when = "empty"` take for empty (`fscrawl.parse.emptiness`)?

    python -m benchmarks.emptiness

The pages of Debian's documentation have their text without scripts, so few of them should be found: python3-doc,
postgresql-doc-15 and rust-doc, as far as they are installed. The front pages of applications that npm packages bring
along have none, so all of them should be. The packages are loaded from npm's registry.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from fscrawl.parse.emptiness import is_empty

DOC = Path("/usr/share/doc")
WITH_TEXT = ("python3*/html", "postgresql-doc-*/html", "rust-doc/html")
APPLICATIONS = {
    "@directus/app@18.0.0": ["dist/index.html"],
    "@vitest/ui@5.1.1": ["dist/client/index.html"],
    "@vue/cli-ui@5.0.9": ["dist/index.html"],
    "create-vite@9.3.0": [
        f"template-{name}/index.html"
        for name in ("lit", "preact", "qwik", "react", "solid", "svelte", "vanilla", "vue")
    ],
    "docsify-cli@5.0.0": ["lib/template/index.html"],
    "flowise-ui@3.1.4": ["build/index.html"],
    "json-server@0.17.4": ["public/index.html"],
    "lighthouse@12.8.2": ["report/assets/standalone-template.html"],
    "majestic@1.8.1": ["dist/ui/index.html"],
    "n8n-editor-ui@2.41.0": ["dist/index.html"],
    "nx@24.0.6": ["dist/src/core/graph/index.html"],
    "playwright-core@1.65.1": ["lib/vite/htmlReport/index.html", "lib/vite/traceViewer/index.html"],
    "swagger-ui-dist@5.35.0": ["index.html"],
    "vite-plugin-inspect@12.1.0": ["dist/client/index.html"],
}
_LIMIT_S = 120
_MOST_SHOWN = 20


def with_text() -> None:
    """Count what is found among pages that have their text."""
    for directory in sorted({each.resolve() for pattern in WITH_TEXT for each in DOC.glob(pattern)}):
        files = sorted(path for path in directory.rglob("*.html") if path.is_file())
        if not files:
            continue
        found = [path for path in files if is_empty(path.read_bytes(), "utf-8", "text/html")]
        print(f"{directory}: {len(found)} of {len(files):,} pages are taken for empty", flush=True)
        for path in found[:_MOST_SHOWN]:
            print(f"    {path.relative_to(directory)}")


def applications(directory: Path) -> bool:
    """Say which front pages of applications are not found."""
    missed, count = [], 0
    for package, names in APPLICATIONS.items():
        words = ["npm", "pack", "--silent", "--pack-destination", str(directory), package]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        if done.returncode:
            print(f"{package}: npm cannot load it: {done.stderr.strip()[:200]}")
            continue
        with tarfile.open(directory / done.stdout.strip()) as archive:
            for name in names:
                file = archive.extractfile(f"package/{name}")
                assert file is not None
                count += 1
                if not is_empty(file.read(), "utf-8", "text/html"):
                    missed.append(f"    {package} {name}")
    print(f"front pages of applications: {count - len(missed)} of {count} are taken for empty; not these:")
    print(*missed, sep="\n")
    return count > 0


def main() -> int:
    with_text()
    with tempfile.TemporaryDirectory() as directory:
        return 0 if applications(Path(directory)) else 1


if __name__ == "__main__":
    sys.exit(main())
