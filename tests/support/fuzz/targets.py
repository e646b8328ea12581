"""All targets by name."""

from __future__ import annotations

from tests.support.fuzz import answers, names, pages, tree

TARGETS = {target.name: target for target in (*pages.TARGETS, *answers.TARGETS, *names.TARGETS, *tree.TARGETS)}
