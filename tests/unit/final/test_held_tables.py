"""What workers hold between triggers: whoever runs a trigger, and however often, answers are those of the state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from tests.unit.final.test_bucket import DictStore, node_of
from weft.final.state.bucket import Bucket, BucketMemory
from weft.final.state.history import Blob
from weft.final.state.open_slices import pack_pieces, unpack_pieces
from weft.final.state.tables import BlobTables, HeldTables
from weft.model.window import Window

NODE = node_of((Window(60, 10), Window(640, 10)))
MARKS = range(0, 3000, 50)


class CountingStore(DictStore):
    """A store that counts what is read of it."""

    reads = 0

    def get(self, blob):
        found = super().get(blob)
        self.reads += found is not None
        return found


def trades(mark: int, worth: int) -> pa.Table:
    """The slices of a trigger, of which some are not over yet."""
    start = np.repeat(np.arange(mark - 50, mark + 40, 10), 3)
    ones = np.full(len(start), worth, np.int64)
    return pa.table({"k": np.tile(["a", "b", "c"], 9), "s": start, "n": ones, "a": ones, "x": ones})


def run(store: DictStore, held: HeldTables, kept: BucketMemory | None, mark: int,
        worth: int) -> tuple[list, BucketMemory]:
    """One trigger: its answers, and what is kept as it comes back out of the state."""
    bucket = Bucket(NODE, store, kept, trades(mark, worth), mark, held)
    sent = [batch.to_pylist() for _, batch in bucket.answers()]
    memory = bucket.keep()
    assert memory is not None
    pieces, marks, _ = unpack_pieces(pack_pieces(memory.waiting, memory.marks))
    return sent, replace(memory, waiting=tuple(pieces), marks=marks)


def answers_of(held_by) -> tuple[list, CountingStore]:
    """The answers of a stream of which each trigger is run by a worker with what it holds."""
    store, kept, sent = CountingStore(), None, []
    for i, mark in enumerate(MARKS):
        found, kept = run(store, held_by(i), kept, mark, mark + 1)
        sent.append(found)
    return sent, store


def test_a_worker_that_holds_all_it_wrote_reads_nothing_and_answers_alike():
    wanted, plain = answers_of(lambda i: HeldTables())
    held = HeldTables()
    found, store = answers_of(lambda i: held)
    assert found == wanted and any(wanted)
    assert plain.reads > 100 and store.reads == 0


def test_workers_that_take_turns_and_hold_little_answer_alike():
    workers = [HeldTables(), HeldTables(2000), HeldTables(0)]
    found, store = answers_of(lambda i: workers[i * i % 7 % 3])
    assert found == answers_of(lambda i: HeldTables())[0]
    assert store.reads > 0 and workers[1].size <= 2000 and not workers[2].tables


def test_a_trigger_whose_first_attempt_was_lost_is_answered_from_the_state():
    """The attempt had other rows and reached its end, but its state was not committed."""
    held, store, kept, sent = HeldTables(), DictStore(), None, []
    for mark in MARKS:
        lost = DictStore()
        lost.update(store)
        run(lost, held, kept, mark, 7_000_000)
        found, kept = run(store, held, kept, mark, mark + 1)
        sent.append(found)
    assert sent == answers_of(lambda i: HeldTables())[0]


def test_a_blob_without_a_mark_is_read_and_not_held():
    held, store = HeldTables(), DictStore()
    written = BlobTables(NODE.form, store, {}, held)
    written.put(Blob(0, 1), trades(100, 1))
    unmarked = BlobTables(NODE.form, store, {}, HeldTables())
    assert unmarked.get(Blob(0, 1)) == trades(100, 1) and not unmarked.held.tables
    written.remove(Blob(0, 1))
    assert not store and not held.tables and held.size == 0
