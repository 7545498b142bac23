#!/bin/sh
# Finds Java 17+ where Spark looks for it (JAVA_HOME, then PATH); installs Debian's headless JRE when it may.
set -u

major() {
  "$1" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1
}

found() {
  java=${JAVA_HOME:+$JAVA_HOME/bin/}java
  command -v "$java" >/dev/null 2>&1 && version=$(major "$java") && [ "${version:-0}" -ge 17 ]
}

install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
  echo "Installing a headless Java runtime with apt-get ..."
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null 2>&1
  for package in openjdk-17-jre-headless openjdk-21-jre-headless default-jre-headless; do
    apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 && return 0
  done
  return 1
}

found && exit 0
if [ -n "${JAVA_HOME:-}" ]; then
  echo "JAVA_HOME has no Java 17 or newer, which Spark needs: point it to one, or unset it." >&2
  exit 1
fi
install && found && exit 0
echo "Weft needs Java 17 or newer: install a JRE (Debian: apt-get install openjdk-17-jre-headless) or set JAVA_HOME." >&2
exit 1
