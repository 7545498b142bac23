"""A process that holds the lease of a store until it is told to end or killed: `python holder.py CATALOG BEAT`."""

from __future__ import annotations

import sys

from weft.catalog.database import open_catalog
from weft.errors import RunError
from weft.runner.lease import LeaseTimes, holding_lease

if __name__ == "__main__":
    beat = float(sys.argv[2])
    with open_catalog(sys.argv[1]) as catalog:
        try:
            with holding_lease(catalog, LeaseTimes(beat, 4 * beat)) as lease:
                print("held", flush=True)
                sys.stdin.read()
                lease.require()
        except RunError as error:
            print(error, flush=True)
