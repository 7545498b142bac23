#!/bin/sh
# Builds .venv from requirements.lock; every version is the lock's, so the build needs no resolver. VENV and LOCK name others.
set -eu

venv=${VENV:-.venv}
lock=${LOCK:-requirements.lock}
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "Weft needs Python 3.11 or newer: install it, or name it with PYTHON=/path/to/python make setup." >&2
  exit 1
fi
if ! [ -x "$venv/bin/python" ]; then
  echo "Building $venv (once; a minute or two) ..."
  if ! "$python" -m venv "$venv"; then
    rm -rf "$venv"
    echo "Python cannot make a virtual environment: install its venv module (Debian: apt-get install python3-venv)." >&2
    exit 1
  fi
fi
pip="env PYTHONWARNINGS=ignore PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore $venv/bin/python -m pip install --quiet"
$pip -r "$lock"
# The distribution was once named weft: what that left in an older .venv would own the same command.
rm -rf weft.egg-info
if ls "$venv"/lib/python*/site-packages/weft-*.dist-info >/dev/null 2>&1; then
  "$venv/bin/python" -m pip uninstall --yes --quiet --disable-pip-version-check --root-user-action=ignore weft
fi
# setuptools comes with the lock, so the package itself is installed without asking an index again.
$pip --no-deps --no-build-isolation -e .
