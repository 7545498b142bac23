"""What an incremental run says of its sources: how many files it read, how long that took, and what was made anew."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class SourceReport:
    """What a run read of a source: for the report. `derived` counts its kept groupings that are made of other slices,
    `derived_anew` says why some were made of all of these; `widened` are columns that kept slices got."""

    files: int
    new: int = 0
    began: float = 0.0
    ended: float = 0.0
    anew: list[str] = field(default_factory=list)
    widened: list[str] = field(default_factory=list)
    derived: int = 0
    derived_anew: list[str] = field(default_factory=list)

    def took(self, began: float, ended: float) -> None:
        """Put down when something was done for the source; some of it is done side by side."""
        self.began = min(self.began or began, began)
        self.ended = max(self.ended, ended)

    def to_dict(self, source: str) -> dict:
        """The line of the report."""
        told = {"source": source, "files": self.files, "new_files": self.new,
                "seconds": round(self.ended - self.began, 3), "anew": first_reasons(self.anew)}
        if self.widened:
            told |= {"widened": list(dict.fromkeys(self.widened))}
        if self.derived:
            told |= {"derived": self.derived, "derived_anew": first_reasons(self.derived_anew)}
        return told


def first_reasons(reasons: list[str]) -> str | None:
    """Every reason once, None where there is none."""
    return "; ".join(dict.fromkeys(reasons)) or None
