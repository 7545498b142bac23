#!/bin/sh
# Finds Chromium for the tests of the page (CHROMIUM, then PATH); installs Debian's when it may. Without it those tests fail.
set -u

found() {
  for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 && return 0
  done
  return 1
}

install() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
  echo "Installing Chromium with apt-get ..."
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null 2>&1
  apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1
}

found && exit 0
install && found && exit 0
echo "The tests of the page need Chromium: install it (Debian: apt-get install chromium) or set CHROMIUM. The others run." >&2
exit 0
