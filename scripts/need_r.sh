#!/bin/sh
# Installs R where it is missing: releases hold a script in R, and its tests run it.
set -eu
command -v Rscript >/dev/null 2>&1 && exit 0

say() { printf '%s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo -n "$@"; else return 1; fi
}

say "Installing R, which runs the analysis.R of releases in its tests ..."
if command -v apt-get >/dev/null 2>&1; then
    as_root apt-get update -qq >/dev/null 2>&1 || true
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends r-base-core >/dev/null || true
fi
command -v Rscript >/dev/null 2>&1 && exit 0
say "R is missing and could not be installed: please install r-base-core."
[ "${CI:-}" != true ] || exit 1
say "The tests that need it will be skipped."
