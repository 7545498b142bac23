"""A stream under load: over many triggers, with new keys and keys that fall silent, nothing grows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.long
def test_state_and_checkpoint_stay_flat_over_many_triggers(tmp_path):
    command = [sys.executable, "-m", "tests.harness.stream_load", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["numRowsTotal"]) >= 50
    assert {"commits", "offsets", "sources", "state"} <= set(found)
    for name, values in found.items():
        early, late = values[len(values) // 4: len(values) // 2], values[-len(values) // 4:]
        assert max(late) <= 1.25 * max(early) and median(late) <= 1.25 * median(early), (name, values)
