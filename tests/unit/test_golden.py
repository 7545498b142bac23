"""The golden files are what Weft makes of their cases today; `make golden` remakes them for a change that is meant."""

from __future__ import annotations

import pytest

from tests.fixtures.golden import CASES, FOLDER, outputs


@pytest.mark.parametrize("case", CASES, ids=lambda path: str(path.relative_to(FOLDER).with_suffix("")))
def test_golden_files_are_up_to_date(case):
    """A difference here is a change that users see: of a reading, a plan or an explanation."""
    for path, text in outputs(case).items():
        assert path.is_file(), f"{path.name} is missing: run `make golden`"
        assert path.read_text() == text


def test_every_golden_file_has_a_case():
    """A file whose case is gone would never be looked at again."""
    made = {path for case in CASES for path in (case, *outputs(case))}
    lost = [path for path in FOLDER.glob("*/*") if path.is_file() and path not in made]
    assert not lost
