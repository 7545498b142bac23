"""What every test shares: the Spark sessions, the hypothesis profile, and the `spark` mark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.fixtures.kafka.broker import Broker
from tests.fixtures.kafka.jars import MissingError, connector
from tests.fixtures.order import STOCK, group_of, place_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_TESTS = Path(__file__).parent / "spark"
FEW, MANY = 34, 100  # examples of a hypothesis test


def pytest_addoption(parser: pytest.Parser) -> None:
    """Lets `--cases N` set how many examples each hypothesis test draws, `--random` draw new ones each run, `--session`
    choose Weft's own session or a stock one, and `--all` run also those that start clusters or kill processes, more
    examples, and more files in both sessions."""
    parser.addoption("--cases", type=int, help=f"examples per hypothesis test (default {FEW}, with --all {MANY})")
    parser.addoption("--random", action="store_true", help="draw new examples instead of the same ones each run")
    parser.addoption("--session", choices=("weft", "stock"), help="run the Spark tests in this session only")
    parser.addoption("--all", action="store_true", help="run the long tests, too")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the one profile; the same examples come each run unless `--random` is given."""
    if config.option.cases is None:
        config.option.cases = MANY if config.option.all else FEW
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


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Marks every test under tests/spark with `spark`, leaves long ones out unless they are asked for, and orders what
    several processes take, after pytest has put together what shares a session."""
    for item in items:
        if SPARK_TESTS in item.path.parents:
            item.add_marker(pytest.mark.spark)
    left = [item for item in items if item.get_closest_marker("long") and is_left_out(item)]
    if left and len(left) < len(items):  # a long test that is asked for by itself is run
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    yield
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place_of(item.nodeid))


def is_left_out(item: pytest.Item) -> bool:
    """Whether a long test is not run: no kill or cluster differs by session, so that Weft's own is enough for it."""
    in_stock = group_of(item.nodeid) == STOCK and not item.config.getoption("--session")
    return in_stock or not item.config.getoption("--all")


@pytest.hookimpl(optionalhook=True)  # pytest runs without xdist too
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Lets one process have all tests of a file that needs Spark, in the order in which they were collected."""
    from tests.fixtures.scheduler import FileScheduling

    config.option.loadscopereorder = False
    return FileScheduling(config, log)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Gives a test that asks for a session the kinds that it runs in."""
    if "spark" in metafunc.fixturenames:
        from tests.fixtures.sessions import ALWAYS_IN_BOTH, IN_BOTH

        config, definition = metafunc.config, metafunc.definition
        twice = IN_BOTH if config.getoption("--all") else ALWAYS_IN_BOTH
        kinds = ["weft", "stock"] if definition.path.name in twice else ["weft"]
        if config.getoption("--session"):
            kinds = [config.getoption("--session")]
        metafunc.parametrize("spark", ["weft"] if definition.get_closest_marker("kafka") else kinds, indirect=True,
                             scope="session")


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
