"""What tests of snapshots write into logs, and which machines they find."""

from __future__ import annotations

import json


def names(machines) -> list[str]:
    return [machine.name for machine in machines]


def encoded(facts: dict) -> bytes:
    return json.dumps(facts).encode() + b"\n"
