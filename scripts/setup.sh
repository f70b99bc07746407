#!/bin/sh
# Builds .venv. "product": what the product needs, for the demonstration. "all": also what tests and
# pages need, and the system tools of some tests (Java, a browser, PostgreSQL), each named as it is
# installed.
set -eu
WHAT=${1:-all}
case $WHAT in
    product) PACKAGES=product.txt ;;
    all) PACKAGES=constraints.txt ;;
    *) echo "setup.sh takes product or all; found $WHAT." >&2; exit 2 ;;
esac
PYTHON=${PYTHON:-python3}

say() { printf '%s\n' "$*" >&2; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null 2>&1; then sudo -n "$@"; else return 1; fi
}

apt_updated=
apt_install() {  # apt_install PACKAGE... : quietly, or say what is missing
    command -v apt-get >/dev/null 2>&1 || { say "Please install: $*"; return 1; }
    [ -n "$apt_updated" ] || { as_root apt-get update -qq >/dev/null 2>&1 || true; apt_updated=yes; }
    say "Installing $* ..."
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null ||
        { say "Could not install $*; the tests that need it will say so."; return 1; }
}

if [ ! -x .venv/bin/python ]; then
    say "Creating .venv ..."
    "$PYTHON" -m venv .venv 2>/dev/null || {
        rm -rf .venv
        apt_install python3-venv
        "$PYTHON" -m venv .venv
    }
fi
# Every package has the hash that its list states for it, the installer first of all.
if [ ! -x .venv/bin/uv ]; then
    sed -n '/^uv==/,/[^\\]$/p' "$PACKAGES" >.venv/installer.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
        -r .venv/installer.txt
fi

say "Installing the Python packages ..."
export UV_COMPILE_BYTECODE=1 VIRTUAL_ENV=.venv
.venv/bin/uv pip install --quiet --require-hashes -r "$PACKAGES"
.venv/bin/uv pip install --quiet --no-deps --no-build-isolation --editable .

[ "$WHAT" = all ] || exit 0
command -v java >/dev/null 2>&1 || apt_install default-jre-headless || true
command -v chromium >/dev/null 2>&1 || apt_install chromium fonts-dejavu-core || true
# Debian keeps the server's programs off the path.
command -v initdb >/dev/null 2>&1 || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ||
    apt_install postgresql || true
