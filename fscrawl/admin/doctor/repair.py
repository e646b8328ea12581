"""Writes `crawl.toml` again if somebody has deleted it, from what the tree knows.

Machines keep a copy of the settings that they use, without the values that may hold passwords. If there is no copy, the
defaults are written, with what was fixed when the tree was made.

Promise: no machine goes on without a proxy or a login that it had. The file says where such values are missing, in a
way that is no TOML: machines that run keep their last good settings, and no other one starts, until it was edited.
"""

from __future__ import annotations

import re

from fscrawl.admin.doctor.check_result import OK, PROBLEM, WARNING, CheckResult
from fscrawl.config import settings
from fscrawl.config.settings import NOT_KEPT, check_fixed
from fscrawl.errors import SettingsError
from fscrawl.store import Tree
from fscrawl.util.installed import command


def missing_settings(tree: Tree, *, repair: bool) -> CheckResult:
    """Say that `crawl.toml` is missing, or with `repair` write it again; TreeError if it cannot be written."""
    path = f"{tree.root}/{settings.FILE}"
    if not repair:
        how = f"{command('doctor', tree.root)} --repair"
        return CheckResult(PROBLEM, f"{path} is missing: somebody has deleted it", f"to write it again:  {how}")
    text, source = _known(tree)
    if not tree.controls.restore_settings(_to_complete(text)):
        return CheckResult(WARNING, f"{path} is there again: somebody else has written it")
    if source == "defaults":
        return CheckResult(WARNING, f"{path} was written again, with the defaults: no machine kept a copy", "edit it")
    if NOT_KEPT in text:
        advice = "no machine uses it until you write their values into it again: " + ", ".join(_not_kept(text))
        return CheckResult(WARNING, f"{path} was written again, except for values that may be secret", advice)
    return CheckResult(OK, f"{path} was written again, as machines used it last")


def _known(tree: Tree) -> tuple[str, str]:
    """Give the text to write, and where it is from: "copy" or "defaults"."""
    copy = tree.controls.copy()
    if copy is not None:
        try:
            check_fixed(tree.record, settings.parse(copy, record=tree.record))
        except SettingsError:
            pass
        else:
            return copy, "copy"
    return settings.render(settings.fixed_by(tree.record)), "defaults"


def _to_complete(text: str) -> str:
    """Let a value be missing where the copy has a comment in place of a secret one."""
    not_kept = re.escape(NOT_KEPT)
    return re.sub(rf"^# (\w+ =)  ({not_kept})$", r"\1  # \2", text, flags=re.MULTILINE)


def _not_kept(text: str) -> list[str]:
    return [line.split()[1] for line in text.splitlines() if line.endswith(NOT_KEPT)]
