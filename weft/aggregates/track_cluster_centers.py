"""TrackClusterCenters of ARGUS (002 §1): points clustered about anchors, and the centre of each cluster in a window.

A centre that drifts with every point that comes, as in online k-means, depends on the order of the points: the state
of two slices cannot be combined into that of both, so no window could share them. Here the clusters are fixed by
anchors that the user gives; what is tracked is where the points of each cluster lie.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from weft.aggregates.operation import State
from weft.aggregates.user import UserAggregate


class TrackClusterCenters(UserAggregate):
    """For each anchor the number of points that are nearest to it, and their centre; null where there are none.

    >>> loom.aggregate(TrackClusterCenters([(0.0, 0.0), (10.0, 0.0)]))
    >>> loom.query("centers", "SELECT window.end, track_cluster_centers(x, y) FROM points [RANGE 10 min SLIDE 1 min]")

    An answer is an array of struct<n, center>, in the order of the anchors. A point between two anchors belongs to
    the first of them.
    """

    returns = "array<struct<n:bigint,center:array<double>>>"
    commutative = True
    ufunc = np.add

    def __init__(self, anchors: Sequence[Sequence[float]], name: str = "track_cluster_centers"):
        self.name = name
        if len({len(anchor) for anchor in anchors} | {0}) != 2 or not np.isfinite(np.array(anchors, float)).all():
            raise ValueError("anchors must be points of equally many finite coordinates: [(0.0, 0.0), (10.0, 0.0)]")
        self.anchors = np.array(anchors, float)
        clusters, dimensions = self.anchors.shape
        self.takes = ("double",) * dimensions
        # For each cluster its number of points, then the sum of each coordinate.
        self.fields = ("int64", *("float64",) * dimensions) * clusters
        self.identity = (0, *(0.0,) * dimensions) * clusters

    def lift(self, *coordinates: np.ndarray) -> State:
        """Each point counts for its nearest anchor, and for no other."""
        points = np.stack(coordinates, 1)
        nearest = ((points[:, None, :] - self.anchors) ** 2).sum(2).argmin(1)
        fields: list[np.ndarray] = []
        for cluster in range(len(self.anchors)):
            mine = nearest == cluster
            fields += [mine.astype(np.int64), *(np.where(mine, values, 0.0) for values in coordinates)]
        return tuple(fields)

    def lower(self, state: State) -> pa.Array:
        """The counts and the centres of all clusters, one list a state."""
        clusters, dimensions = self.anchors.shape
        size = len(state[0])
        counts = np.stack(state[:: dimensions + 1], 1).reshape(-1)
        sums = np.stack([a for i, a in enumerate(state) if i % (dimensions + 1)], 1).reshape(-1, dimensions)
        centers = (sums / np.maximum(counts, 1)[:, None]).reshape(-1)
        offsets = pa.array(np.arange(len(counts) + 1) * dimensions, pa.int32())
        fields = [pa.array(counts), pa.ListArray.from_arrays(offsets, pa.array(centers), mask=pa.array(counts == 0))]
        each = pa.StructArray.from_arrays(fields, names=["n", "center"])
        return pa.ListArray.from_arrays(pa.array(np.arange(size + 1) * clusters, pa.int32()), each)
