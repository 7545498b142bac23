"""The tables of the catalog, as the steps by which an older file becomes one of this version."""

from __future__ import annotations

# ARGUS's relations (002 §3.1) in our words: GroupExprIndex is `expressions`, GroupExprSet `expression_sets` and
# `set_members`, GroupTopology `nodes` and `plan_nodes`, GroupColumns `node_columns`.
FIRST = (
    """CREATE TABLE expressions (
        id INTEGER PRIMARY KEY, source TEXT NOT NULL, canonical TEXT NOT NULL, text TEXT NOT NULL,
        UNIQUE (source, canonical)) STRICT""",
    """CREATE TABLE expression_sets (
        id INTEGER PRIMARY KEY, source TEXT NOT NULL, members TEXT NOT NULL,
        UNIQUE (source, members)) STRICT""",
    """CREATE TABLE set_members (
        expression_set INTEGER NOT NULL REFERENCES expression_sets, expression INTEGER NOT NULL REFERENCES expressions,
        PRIMARY KEY (expression_set, expression)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE plans (
        version INTEGER PRIMARY KEY, made TEXT NOT NULL, optimizer TEXT NOT NULL, cost REAL NOT NULL,
        digest TEXT NOT NULL, explanation TEXT NOT NULL) STRICT""",
    """CREATE TABLE nodes (
        id INTEGER PRIMARY KEY, source TEXT NOT NULL, expression_set INTEGER NOT NULL REFERENCES expression_sets,
        time INTEGER NOT NULL REFERENCES expressions, predicates TEXT NOT NULL, progressions TEXT NOT NULL,
        sharing TEXT NOT NULL,
        UNIQUE (source, expression_set, time, predicates, progressions, sharing)) STRICT""",
    """CREATE TABLE node_columns (
        node INTEGER NOT NULL REFERENCES nodes, place INTEGER NOT NULL, name TEXT NOT NULL,
        predicate INTEGER REFERENCES expressions, sql TEXT NOT NULL,
        PRIMARY KEY (node, place)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE plan_nodes (
        plan INTEGER NOT NULL REFERENCES plans, node INTEGER NOT NULL REFERENCES nodes,
        parent INTEGER REFERENCES nodes,
        PRIMARY KEY (plan, node)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE registrations (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, sql TEXT NOT NULL, source TEXT NOT NULL,
        range INTEGER NOT NULL, slide INTEGER NOT NULL, start INTEGER NOT NULL,
        node INTEGER REFERENCES nodes, plan INTEGER REFERENCES plans,
        registered TEXT NOT NULL, removed TEXT) STRICT""",
    "CREATE UNIQUE INDEX current ON registrations (name) WHERE removed IS NULL",
    """CREATE TABLE registration_expressions (
        registration INTEGER NOT NULL REFERENCES registrations, role TEXT NOT NULL, place INTEGER NOT NULL,
        expression INTEGER NOT NULL REFERENCES expressions,
        PRIMARY KEY (registration, role, place)) STRICT, WITHOUT ROWID""",
    """CREATE TABLE statistics (
        id INTEGER PRIMARY KEY, source TEXT NOT NULL, predicate INTEGER REFERENCES expressions,
        time INTEGER NOT NULL REFERENCES expressions, expression_set INTEGER NOT NULL REFERENCES expression_sets,
        origin TEXT NOT NULL, node INTEGER REFERENCES nodes,
        rows REAL, keys REAL, span REAL, slices REAL, taken TEXT NOT NULL) STRICT""",
    """CREATE UNIQUE INDEX measured ON statistics (
        source, coalesce(predicate, 0), time, expression_set, origin, coalesce(node, 0))""",
)

# What incremental runs keep (002 Algorithm 1): a shelf holds the slices of one partial stage in generations, each of
# which says which files of the source it was made of.
SHELVES = (
    """CREATE TABLE shelves (
        id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL, columns TEXT NOT NULL, used REAL NOT NULL,
        UNIQUE (fingerprint, columns)) STRICT""",
    """CREATE TABLE generations (
        id TEXT PRIMARY KEY, shelf INTEGER NOT NULL REFERENCES shelves, state TEXT NOT NULL, since REAL NOT NULL,
        bytes INTEGER NOT NULL DEFAULT 0) STRICT""",
    """CREATE TABLE generation_files (
        generation TEXT NOT NULL REFERENCES generations ON DELETE CASCADE, path TEXT NOT NULL, size INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        PRIMARY KEY (generation, path)) STRICT, WITHOUT ROWID""",
    "CREATE TABLE outlooks (mark TEXT PRIMARY KEY, known TEXT NOT NULL, made REAL NOT NULL) STRICT",
)

# Windows that count rows.
COUNTING = ("ALTER TABLE registrations ADD COLUMN unit TEXT NOT NULL DEFAULT 'time'",)

# The tables by the names that the code has. What was kept before columns had names by what they hold is made anew.
NAMES = (
    "UPDATE generations SET state = 'retired', since = 0 WHERE state = 'live'",
    "ALTER TABLE shelves RENAME TO slice_caches",
    "ALTER TABLE generations RENAME COLUMN shelf TO slice_cache",
    "ALTER TABLE outlooks RENAME TO planning_snapshots",
)

# What answers that are kept elsewhere have not seen yet: how often new files were added to a cache since it was made
# anew, which is its epoch, and where in time each addition's slices start. A generation holds some additions.
INCREMENTS = (
    "ALTER TABLE slice_caches ADD COLUMN epoch TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE slice_caches ADD COLUMN version INTEGER NOT NULL DEFAULT 0",
    "UPDATE slice_caches SET epoch = lower(hex(randomblob(16)))",
    "ALTER TABLE generations ADD COLUMN first INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE generations ADD COLUMN last INTEGER NOT NULL DEFAULT 0",
    """CREATE TABLE increments (
        slice_cache INTEGER NOT NULL REFERENCES slice_caches ON DELETE CASCADE, version INTEGER NOT NULL,
        spans TEXT NOT NULL,
        PRIMARY KEY (slice_cache, version)) STRICT, WITHOUT ROWID""",
)

# Schedules: who runs them, what ran when, and when each query is due again. Times are microseconds since the epoch.
SCHEDULES = (
    """CREATE TABLE leases (
        name TEXT PRIMARY KEY, holder TEXT NOT NULL, process INTEGER NOT NULL, born TEXT NOT NULL, host TEXT NOT NULL,
        machine TEXT NOT NULL, beats INTEGER NOT NULL, renewed REAL NOT NULL) STRICT""",
    """CREATE TABLE scheduled_runs (
        id INTEGER PRIMARY KEY, started INTEGER NOT NULL, seconds REAL NOT NULL, queries TEXT NOT NULL,
        failed TEXT NOT NULL, new_files INTEGER NOT NULL, steady INTEGER NOT NULL) STRICT""",
    """CREATE TABLE query_states (
        query TEXT NOT NULL, meaning TEXT NOT NULL, due INTEGER NOT NULL, started INTEGER, failures INTEGER NOT NULL,
        reason TEXT NOT NULL,
        PRIMARY KEY (query, meaning)) STRICT, WITHOUT ROWID""",
)

# What triggers of a stream's scan take: seconds each, and of every second for rows.
TRIGGERS = (
    """CREATE TABLE trigger_loads (
        scan TEXT PRIMARY KEY, fixed REAL NOT NULL, rows REAL NOT NULL, seen REAL NOT NULL) STRICT""",
)

# A catalog of version n has had the first n of these. What is released stays as it is: changes are new steps.
MIGRATIONS: tuple[tuple[str, ...], ...] = (FIRST, SHELVES, COUNTING, NAMES, INCREMENTS, SCHEDULES, TRIGGERS)
VERSION = len(MIGRATIONS)
