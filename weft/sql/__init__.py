"""SQL text in, a Query out: what Weft reads, what it refuses, and the Spark SQL it writes back."""

from weft.sql.parse import Parsed, parse_query
from weft.sql.schema import SourceSchema

__all__ = ["Parsed", "SourceSchema", "parse_query"]
