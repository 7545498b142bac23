"""Spark's functions that Weft does not run, by the reason."""

from __future__ import annotations


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Aggregates that Spark 4.3 has and Weft does not run yet.
NOT_YET = _names(
    """any_value approx_top_k approx_top_k_accumulate approx_top_k_combine
    bitmap_and_agg bitmap_construct_agg bitmap_or_agg collect_union
    count_min_sketch first first_value histogram_numeric hll_sketch_agg hll_union_agg kll_merge_agg_bigint
    kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float
    last last_value listagg measure percentile_cont percentile_disc
    regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
    schema_of_variant_agg string_agg theta_intersection_agg theta_sketch_agg theta_union_agg try_avg try_sum
    tuple_intersection_agg_double tuple_intersection_agg_integer tuple_sketch_agg_double
    tuple_sketch_agg_integer tuple_union_agg_double tuple_union_agg_integer vector_avg vector_sum"""
)
ANALYTIC = _names("counter_diff cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number")
GENERATORS = _names("explode explode_outer inline inline_outer posexplode posexplode_outer stack json_tuple")
# Functions whose value is not the same from run to run, or from session to session.
CHANGING = _names(
    """rand randn random randstr uniform uuid shuffle monotonically_increasing_id spark_partition_id input_file_name
    input_file_block_start input_file_block_length current_date curdate current_timestamp now localtimestamp
    localtime current_time current_user user session_user current_catalog current_database current_schema current_path
    java_method reflect try_reflect"""
)
# Functions whose first of three arguments is a unit such as DAY, not a column.
UNIT_FIRST = _names("date_add dateadd timestampadd date_diff datediff timestampdiff")
