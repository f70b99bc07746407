#!/bin/sh
# Builds wheel and sdist in a temporary folder, installs the wheel afresh for every Python of PYTHONS
# that the machine has, and uses it there as a user would, far from the repository.
set -eu
PYTHONS=${PYTHONS:-"3.11 3.12 3.13"}
ROOT=$(pwd)
BIN=${BIN:-$ROOT/.venv/bin}
UV=$BIN/uv
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT INT TERM
unset PYTHONPATH VIRTUAL_ENV

say() { printf '%s\n' "$*" >&2; }
now() { date +%s; }

find_python() {  # find_python 3.12 : a program that runs and is that Python, or nothing
    for program in "$(command -v "python$1" || true)" "$(command -v python3 || true)" \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
        if [ -x "$program" ] && "$program" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
            echo "$program"
            return
        fi
    done
}

begun=$(now)
"$BIN/python" -W error::UserWarning -m build --outdir "$WORK/dist" "$ROOT" >"$WORK/build.log" 2>&1 ||
    { cat "$WORK/build.log" >&2; exit 1; }
! grep -i warning "$WORK/build.log" >&2 || { say "The build warned."; exit 1; }
"$BIN/python" "$ROOT/scripts/look_into_dist.py" "$WORK/dist"
say "Built in $(($(now) - begun)) s."

tried= missing=
for version in $PYTHONS; do
    python=$(find_python "$version")
    if [ -z "$python" ]; then
        missing="$missing $version"
        continue
    fi
    begun=$(now)
    "$UV" venv --quiet --python "$python" "$WORK/$version"
    "$UV" pip install --quiet --python "$WORK/$version/bin/python" "$WORK"/dist/*.whl
    installed=$(now)
    mkdir "$WORK/use-$version"
    (cd "$WORK/use-$version" && HOME=$WORK/use-$version PATH=$WORK/$version/bin:$PATH \
        sh -eu "$ROOT/scripts/use_wheel.sh" >"$WORK/use.log" 2>&1) ||
        { cat "$WORK/use.log" >&2; say "Python $version: failed."; exit 1; }
    say "Python $version: installed in $((installed - begun)) s, used in $(($(now) - installed)) s."
    tried="$tried $version"
    rm -rf "$WORK/${version:?}" "$WORK/use-$version"
done
[ -z "$missing" ] || say "Not on this machine: Python$missing."
if [ -z "$tried" ]; then
    say "No Python of $PYTHONS was found."
    [ "${CI:-}" != true ] || exit 1
fi
