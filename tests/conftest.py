"""What every test shares: the Spark sessions, the hypothesis profile, and the `spark` mark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.fixtures.kafka.broker import Broker
from tests.fixtures.kafka.jars import MissingError, connector

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_TESTS = Path(__file__).parent / "spark"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Lets `--cases N` set how many examples each hypothesis test draws, `--random` draw new ones each run, `--session`
    choose Weft's own session or a stock one, and `--all` run every test in both, and also the tests that start clusters
    or kill processes."""
    parser.addoption("--cases", type=int, default=100, help="examples per hypothesis test (default 100)")
    parser.addoption("--random", action="store_true", help="draw new examples instead of the same ones each run")
    parser.addoption("--session", choices=("weft", "stock"), help="run the Spark tests in this session only")
    parser.addoption("--all", action="store_true", help="run every Spark test in both sessions, and the long ones")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the one profile; the same examples come each run unless `--random` is given."""
    # A Spark query takes longer than hypothesis's deadline, and its first call longer than its health check allows.
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    settings.register_profile(
        "weft",
        max_examples=config.getoption("--cases"),
        derandomize=not config.getoption("--random"),
        deadline=None,
        suppress_health_check=slow,
        print_blob=True,
    )
    settings.load_profile("weft")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks every test under tests/spark with `spark`, and leaves long ones out unless they are asked for."""
    for item in items:
        if SPARK_TESTS in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.xdist_group(f"{item.path.name}-{session_of(item)}"))
    left = [item for item in items if item.get_closest_marker("long") and not config.getoption("--all")]
    if left and len(left) < len(items):  # a long test that is asked for by itself is run
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]


def session_of(item: pytest.Item) -> str:
    """The session that a test runs in, if it asks for one."""
    call = getattr(item, "callspec", None)
    return call.params.get("spark", "") if call else ""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives a test that asks for a session the kinds that it runs in."""
    if "spark" in metafunc.fixturenames:
        from tests.fixtures.sessions import APART, IN_BOTH

        config, definition = metafunc.config, metafunc.definition
        name = definition.path.name
        both = name in IN_BOTH or (config.getoption("--all") and name not in APART)
        kinds = ["weft", "stock"] if both and not definition.get_closest_marker("kafka") else ["weft"]
        only = config.getoption("--session")
        metafunc.parametrize("spark", [kind for kind in kinds if only in (None, kind)], indirect=True, scope="session")


@pytest.fixture(scope="session")
def spark(request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A session of the kind asked for: two cores, few partitions; Weft's has the connector to Kafka if a test asks."""
    from tests.fixtures.sessions import SESSIONS, end

    session = SESSIONS[request.param](kafka_options(request.session.items))
    yield session
    end(session)


def kafka_options(items: list[pytest.Item]) -> dict[str, str]:
    """What the session needs for the Kafka tests among the chosen ones; nothing where the jars cannot be had."""
    if not any(item.get_closest_marker("kafka") for item in items):
        return {}
    try:
        return {"spark.jars": connector()}
    except MissingError:  # the broker's fixture skips those tests, and says why
        return {}


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A Kafka broker of this machine alone; tests that ask for it are skipped where its jars cannot be had."""
    try:
        made = Broker(tmp_path_factory.mktemp("kafka"))
    except MissingError as error:
        pytest.skip(str(error))
    made.start()
    yield made
    made.kill()
