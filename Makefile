# Everything a fresh machine with Python 3.11+ and make needs: `make demo` runs the main job, `make test` the tests.
BIN := .venv/bin
READY := .venv/.ready

.PHONY: help setup java chromium demo test test-pyspark golden fuzz crash check bench bench-final bench-plans bench-joins lock clean
.DEFAULT_GOAL := help

help:                     ## list the targets
	@grep -E '^[a-z-]+: .*## |^[a-z-]+: +## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

setup: $(READY) java      ## build .venv from requirements.lock and find (or install) Java 17+

$(READY): requirements.lock pyproject.toml
	@sh scripts/venv.sh
	@touch $@

java:
	@sh scripts/java.sh

chromium:
	@sh scripts/chromium.sh

demo: setup               ## run the main job: trades, 40+ queries, Parquet and an HTML report
	@$(BIN)/python -m examples.demo $(ARGS)

JOBS ?= 2
test: setup chromium      ## run the tests, two at a time (ARGS=--all as CI does; "--cases 2000" for more random ones; JOBS=4)
	@$(BIN)/python -m pytest -n $(JOBS) $(ARGS)

TESTS ?= tests/spark
test-pyspark: java        ## run the Spark tests on another PySpark (VERSION=4.1.4 TESTS=tests/spark/test_batch.py ARGS=--all)
	@sh scripts/pyspark_venv.sh $(VERSION)
	@.venv-pyspark-$(VERSION)/bin/python -m pytest -n $(JOBS) $(TESTS) $(ARGS)

golden: $(READY)          ## remake the golden files: readings, plans, explanations (then look at git diff)
	@$(BIN)/python -m tests.fixtures.golden

fuzz: setup               ## draw random queries, settings and runs, compare with Spark's own (ARGS="--minutes 30 --seed 7")
	@$(BIN)/python -m tests.fuzz $(ARGS)

crash: setup              ## kill a stream 30 times and compare its answers with a batch run (ARGS="--kills 100 --seed 2")
	@$(BIN)/python -m tests.crash $(ARGS)

check: $(READY)           ## run ruff and mypy
	@$(BIN)/ruff check .
	@$(BIN)/mypy

bench: setup              ## measure many windows against one pass, Spark's own and Polars
	@$(BIN)/python bench/many_windows.py $(ARGS)

FINAL := final_single final_multi final_ragged deque_length final_numerics
bench-final: $(READY)     ## measure the final algorithms: one range, many, gaps, rounding (ARGS=--quick for a small run)
	@set -e; for name in $(FINAL); do $(BIN)/python bench/$$name.py $(ARGS); done

PLANS := queries rate overlap skew incremental adding optimizations counting techniques scale quality throughput
bench-plans: $(READY)     ## measure the plans of the optimizers: the papers' figures, time, quality (ARGS=--quick)
	@set -e; for name in $(PLANS); do $(BIN)/python bench/plan_$$name.py $(ARGS); done
	@$(BIN)/python bench/schedules.py $(ARGS)

bench-joins: $(READY)     ## join orders and drop boxes by the rate model: the paper's figures (ARGS=--quick)
	@$(BIN)/python bench/joins_model.py $(ARGS)

lock:                     ## remake requirements.lock from pyproject.toml
	@test -x $(BIN)/python || python3 -m venv .venv
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet uv
	@$(BIN)/uv pip compile pyproject.toml --extra dev --extra bench --extra jit --universal --quiet \
	  --no-header --no-emit-index-url --no-emit-find-links -o requirements.lock

clean:                    ## remove the virtual environments and the caches
	@rm -rf .venv .venv-pyspark-* .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist demo-out fuzz-failures
