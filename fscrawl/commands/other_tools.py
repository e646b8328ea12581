"""The words of other tools (wget, curl, Scrapy, restic, git) that people type, and ours for the same thing."""

from __future__ import annotations

from collections.abc import Container

_COMMANDS = {
    "crawl --root DIR URL": "init create new add start run runspider spider genspider startproject scrape get fetch"
    " download mirror clone backup",
    "crawl --root DIR": "continue go",
    "crawl --root DIR --refresh 0s": "update refresh recrawl sync",
    "status": "list ls stats info progress top queue errors failures",
    "status --watch": "watch tail follow",
    "show URL": "cat view why explain inspect log",
    "try URL": "shell parse test dry-run",
    "merge --out DIR": "dump archive feed save",
    "audit": "check verify fsck validate repair",
    "dashboard": "serve server ui web gui",
    "search WORD --dataset DIR": "find grep query",
    "stop": "kill quit end cancel abort",
    "--version": "version",
}
_OPTIONS = {
    "--out DIR": "-o -O --output --output-dir --outdir -P -d --dir --to",
    "--root DIR": "-o -O --output --output-dir -P --directory-prefix --dir --directory -d -C --repo --tree --path",
    "--seeds FILE": "-i --input-file --input --urls --url-file --file -K",
    "--depth N": "-l --level --max-depth --depth-limit -depth",
    "--delay S": "-w --download-delay --sleep --rate --rate-limit --limit-rate",
    "--max-pages N": "-n --limit --pages --max --quota -Q",
    "--user-agent TEXT": "-U --agent --useragent",
    "--scope domain": "-D --domain --domains --allowed-domains -H --span-hosts --subdomains -np --no-parent",
    "--include RE": "--allow --accept --accept-regex -A -I",
    "--exclude RE": "--deny --reject --reject-regex -R -X",
    "--allow RE": "--include --accept --accept-regex -A -I --include-directories",
    "--deny RE": "--exclude --reject --reject-regex -R -X --ignore",
    "--render HOST": "--js --javascript --browser --headless --playwright",
    "--workers N": "-j --jobs -c --concurrency --parallel --processes",
    "--processes N": "-j --jobs --workers --parallel",
    "--threads N": "-t --concurrent-requests",
    "--set politeness.robots=false": "--ignore-robots --no-robots -e",
    "--set fetch.headers={…}": "--header --headers",
    "--set fetch.proxies=[…]": "-x --proxy --proxies",
    "--set fetch.auth={…}": "-u --user --password --http-user --http-password --auth",
    "--set NAME=VALUE": "-s -S --setting --settings --config --option",
    "--format F": "-f -F -t --type",
    "--host GLOB": "--domain --domains --hosts",
    "--bind ADDRESS": "--host --address --listen --interface",
    "--class CLASS": "--reason --error --type --errors",
    "--watch": "-f -F -w --follow --live",
    "--wait": "--follow --daemon -b --background --keep-alive",
    "--quiet": "-q -nv --no-verbose --silent",
    "--json": "-j",
}
_LEAVE_OUT = {
    "links are always followed": "-r --recursive -m --mirror --crawl",
    "targets of redirects are always fetched": "-L --location",
    "the same command continues": "-c --continue --resume -N --timestamping",
    "all is kept under the names of URLs in the tree": "-x --force-directories -nH -E --adjust-extension",
}


def command_of(word: str) -> str:
    """Give what to type behind `fscrawl` for a command of another tool; "" if it is not known.

    >>> command_of("ls")
    'status'
    """
    return next((ours for ours, theirs in _COMMANDS.items() if word.lower() in theirs.split()), "")


def option_of(word: str, options: Container[str]) -> str:
    """Say what to type for an option of another tool; "" if it is not known. `options`: of the command.

    >>> option_of("-l", ["--root", "--depth"]), option_of("-L", [])
    ('type --depth N', 'leave it out, targets of redirects are always fetched')
    """
    for ours, theirs in _OPTIONS.items():
        if word in theirs.split() and ours.split()[0] in options:
            return f"type {ours}"
    return next((f"leave it out, {why}" for why, theirs in _LEAVE_OUT.items() if word in theirs.split()), "")
