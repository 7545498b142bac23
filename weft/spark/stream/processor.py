"""The outside of the stateful operator: what Spark's driver opens to learn which state there is.

It does so in a Python process that gets none of the files shipped to executors. So Spark sends this module whole, and
it imports nothing of Weft.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructType

# Types, not their texts: Spark would be asked to parse each text in every task.
KEPT = (StructType().add("until", LongType()).add("last", LongType()).add("timer", LongType())
        .add("waiting", BinaryType()))
BLOB = StructType().add("level", IntegerType()).add("number", LongType())


class BucketProcessor(StatefulProcessor):
    """Opens the state of the bucket at hand, and leaves the rest to what is pickled within; `prepare` is done before
    any row comes."""

    def __init__(self, inside: bytes, prepare: Callable[[], None]):
        self.inside, self.prepare = inside, prepare
        self.made: Any = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self.prepare()
        self.handle = handle
        self.kept = handle.getValueState("kept", KEPT)
        self.past = handle.getMapState("past", BLOB, StructType().add("data", BinaryType()))

    @property
    def folder(self) -> Any:
        """What is within, over the state; not before there is something to fold, so never on the driver."""
        if self.made is None:
            self.made = pickle.loads(self.inside)(self.handle, self.kept, self.past)
        return self.made

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
        """Take new slices and answer."""
        return self.folder.take(int(key[0]), rows, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:
        """Answer as windows slide on, though no slice has come."""
        expired = expiredTimerInfo.getExpiryTimeInMs()
        return self.folder.advance(int(key[0]), None, timerValues.getCurrentWatermarkInMs(), expired)

    def close(self) -> None:
        """Nothing is held beyond the state."""
