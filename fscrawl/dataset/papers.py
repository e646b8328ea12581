"""What stands beside the data and describes it, written again by every run: name → text."""

from __future__ import annotations

from fscrawl.dataset import wacz
from fscrawl.dataset.card import card
from fscrawl.dataset.croissant import croissant
from fscrawl.dataset.dataset_dir import CARD, CROISSANT
from fscrawl.dataset.job import Job
from fscrawl.dataset.manifest import Manifest


def papers(job: Job, manifest: Manifest) -> dict[str, str]:
    """Return the papers of a dataset; of one that it does not need the text is empty."""
    return {CARD: card(job, manifest), CROISSANT: croissant(job, manifest), wacz.ALL: wacz.all_of(manifest)}
