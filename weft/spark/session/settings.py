"""The settings of a Spark session that change what SQL means: those Weft follows, and those it refuses by name.

docs/settings.md has the whole list, with the settings that change no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from weft.errors import SettingError
from weft.spark.session.connect import is_connect


@dataclass(frozen=True)
class Setting:
    """A setting by its name after `spark.sql.`, its default, and what it changes.

    Any value of one that is followed may be set; of others only the default runs. What a checkpoint holds is `pinned`
    to the values under which it was made.
    """

    short: str
    default: str
    changes: str
    followed: bool = True
    pinned: bool = True

    @property
    def name(self) -> str:
        """The whole name."""
        return f"spark.sql.{self.short}"


# Weft's own code knows the first ones; the others that are followed change functions and types that Spark evaluates for
# Weft as it does for itself. Streams look at the zone by themselves: what it changes depends on their event times.
SETTINGS = (
    Setting("ansi.enabled", "true", "whether overflows and bad casts are errors"),
    Setting("caseSensitive", "false", "whether x and X are two columns"),
    Setting("session.timeZone", "", "the zone of dates, hours and texts of times", pinned=False),
    Setting("timestampType", "TIMESTAMP_LTZ", "whether TIMESTAMP is a moment or a local time"),
    Setting("decimalOperations.allowPrecisionLoss", "true", "the scale of wide decimals"),
    Setting("legacy.literal.pickMinimumPrecision", "true", "the precision of whole numbers beside decimals"),
    Setting("chunkBase64String.enabled", "true", "lines in what base64() gives"),
    Setting("function.concatBinaryAsString", "false", "the type of || over binaries"),
    Setting("function.eltOutputAsString", "false", "the type of elt() over binaries"),
    Setting("icu.caseMappings.enabled", "true", "upper() and lower() of letters beyond ASCII"),
    Setting("jsonGenerator.ignoreNullFields", "true", "whether to_json() writes nulls"),
    Setting("legacy.allowHashOnMapType", "false", "hash() of maps"),
    Setting("legacy.allowZeroIndexInFormatString", "false", "format_string() with %0$s"),
    Setting("legacy.castComplexTypesToString.enabled", "false", "brackets and nulls of structs as texts"),
    Setting("legacy.codingErrorAction", "false", "encode() and decode() of letters a charset lacks"),
    Setting("legacy.createEmptyCollectionUsingStringType", "false", "the type of array() and map()"),
    Setting("legacy.disableMapKeyNormalization", "false", "whether -0.0 and 0.0 are one key of a map"),
    Setting("legacy.followThreeValuedLogicInArrayExists", "true", "exists() over nulls"),
    Setting("legacy.javaCharsets", "false", "the charsets of encode() and decode()"),
    Setting("legacy.lpadRpadAlwaysReturnString", "false", "the type of lpad() over binaries"),
    Setting("legacy.negativeIndexInArrayInsert", "false", "array_insert() from the end"),
    Setting("legacy.sizeOfNull", "true", "size() of null"),
    Setting("legacy.timeParserPolicy", "CORRECTED", "how texts of times are parsed"),
    Setting("legacy.truncateForEmptyRegexSplit", "false", "split() by an empty pattern"),
    Setting("legacy.typeCoercion.datetimeToString.enabled", "false", "comparing times with texts"),
    Setting("mapKeyDedupPolicy", "EXCEPTION", "maps with a key twice"),
    Setting("readSideCharPadding", "true", "spaces after CHAR columns"),
    Setting("ansi.doubleQuotedIdentifiers", "false", 'whether "k" is a column or a text', followed=False),
    Setting("ansi.enforceReservedKeywords", "false", "which names need backticks", followed=False),
    Setting("groupByAliases", "true", "whether GROUP BY sees aliases", followed=False),
    Setting("groupByOrdinal", "true", "whether GROUP BY 1 means the first output", followed=False),
    Setting("lateralColumnAlias.enableImplicitResolution", "true", "whether outputs see the aliases before them",
            followed=False),
    Setting("legacy.allowNegativeScaleOfDecimal", "false", "the types of decimals such as 1E3BD", followed=False),
    Setting("legacy.consecutiveStringLiterals.enabled", "false", "what 'it''s' is", followed=False),
    Setting("legacy.decimal.retainFractionDigitsOnTruncate", "false", "the type that two wide decimals share",
            followed=False),
    Setting("legacy.exponentLiteralAsDecimal.enabled", "false", "the type of 1e3", followed=False),
    Setting("legacy.interval.enabled", "false", "the type of intervals", followed=False),
    Setting("legacy.statisticalAggregate", "false", "the variance of a single value", followed=False),
    Setting("parser.escapedStringLiterals", "false", "what a backslash in a text is", followed=False),
    Setting("parser.quotedRegexColumnNames", "false", "whether a name in backticks is a pattern", followed=False),
    Setting("retainGroupColumns", "true", "which columns groupBy() gives", followed=False),
    Setting("stableDerivedColumnAlias.enabled", "false", "the names of outputs without alias", followed=False),
)  # fmt: skip
BY_NAME = {setting.name: setting for setting in SETTINGS}
HONOURED = tuple(setting for setting in SETTINGS if setting.followed)
REFUSED = tuple(setting for setting in SETTINGS if not setting.followed)
# Any of these that is set may change what is read of a source, though no list has them all.
LEGACY = "spark.sql.legacy."


# Nothing that a loom knows of its queries hangs on it: they run in the zone of the run.
ZONE = "spark.sql.session.timeZone"


class Settings:
    """What the session's settings were when a loom first met them: what it knows of its queries holds for these."""

    def __init__(self, spark: SparkSession):
        self.spark = spark
        self._met: Mapping[str, str] = {}

    def check(self) -> None:
        """Raise where a setting is refused, or is no longer what it was when the loom met it."""
        found = read_settings(self.spark)
        for setting in REFUSED:
            if found[setting.name].lower() != setting.default.lower():
                raise SettingError(setting.name, f"is {found[setting.name]}, which changes {setting.changes}, and Weft "
                                   "does not run so.", f"Set it to {setting.default}.")
        require_same({name: value for name, value in self._met.items() if name != ZONE}, found)
        self._met = found

    def pinned(self) -> Callable[[], None]:
        """A check that no setting has changed from now on: the answers of a run must mean what its slices meant."""
        now = read_settings(self.spark)
        return lambda: require_same(now, read_settings(self.spark))


def is_on(spark: SparkSession, setting: str) -> bool:
    """Whether a setting that is true or false is true."""
    return str(spark.conf.get(setting)).lower() == "true"


def require_same(before: Mapping[str, str], found: Mapping[str, str]) -> None:
    """Raise where a setting has another value than before."""
    for name, value in before.items():
        if found[name] != value:
            raise SettingError(name, f"was {value} and is {found[name]} now, and what the loom has read or run so far "
                               "holds for the old value.", "Set it back, or make a new Loom.")


def read_settings(spark: SparkSession) -> dict[str, str]:
    """The values of all settings that change what SQL means."""
    # 42 calls take 4 ms, less than all settings at once (18 ms) or `SET` (44 ms). Over Connect each call would be a
    # message to the server, and all settings come in one.
    known = dict(spark.conf.getAll) if is_connect(spark) else None
    return {setting.name: value_of(spark, setting, known) for setting in SETTINGS}


def value_of(spark: SparkSession, setting: Setting, known: Mapping[str, str] | None) -> str:
    """The value of one setting; other versions of Spark may not know it."""
    if known is not None:
        return str(known.get(setting.name, setting.default))
    return str(spark.conf.get(setting.name, setting.default) if setting.default else spark.conf.get(setting.name))


def read_pinned(spark: SparkSession) -> dict[str, str]:
    """The settings that a checkpoint is pinned to, whatever capitals they are written in."""
    legacy = {name: value for name, value in dict(spark.conf.getAll).items() if name.startswith(LEGACY)}
    found = {name: value for name, value in read_settings(spark).items() if BY_NAME[name].pinned}
    return {name: str(value).lower() for name, value in {**legacy, **found}.items()}


def default_of(name: str) -> str:
    """What a setting is where nobody has set it, as `read_pinned` tells it."""
    return BY_NAME[name].default.lower() if name in BY_NAME else "not set"
