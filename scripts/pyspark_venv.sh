#!/bin/sh
# Builds .venv-pyspark-<version>, once: that PySpark, and the lock's versions of everything else.
set -eu

version=${1:-}
case $version in
  [0-9]*.[0-9]*.[0-9]*) ;;
  *) echo "Name a PySpark by its whole version: make test-pyspark VERSION=4.1.4." >&2; exit 1 ;;
esac
venv=.venv-pyspark-$version
ready=$venv/.ready
if [ -f "$ready" ] && ! [ requirements.lock -nt "$ready" ] && ! [ pyproject.toml -nt "$ready" ]; then
  exit 0
fi
mkdir -p "$venv"
# py4j belongs to its PySpark, which names the version itself.
sed -e "s/^pyspark==.*/pyspark==$version/" -e '/^py4j==/d' requirements.lock > "$venv/requirements.txt"
VENV=$venv LOCK=$venv/requirements.txt sh scripts/venv.sh
touch "$ready"
