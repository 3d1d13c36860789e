# Sourced by the other scripts: makes a virtual environment in .venv and installs barrow with the given extras.
# A stamp over pyproject.toml skips the installation when nothing changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset PYTHONDONTWRITEBYTECODE  # tests start hundreds of processes, and each would compile the package anew

barrow_env() {
  local extras="$1" python="${PYTHON:-python3}" stamp
  if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "barrow needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2
    exit 1
  fi
  if [ ! -x .venv/bin/python ]; then
    if ! "$python" -m venv .venv 2>/dev/null; then
      rm -rf .venv
      if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
        "$python" -m venv .venv
      else
        echo "Python cannot make a virtual environment: install the package python3-venv" >&2
        exit 1
      fi
    fi
  fi
  stamp="$(cksum pyproject.toml | cut -d' ' -f1) $(git rev-parse --show-toplevel 2>/dev/null || pwd)"
  if [ "$(cat ".venv/stamp-$extras" 2>/dev/null)" != "$stamp" ]; then
    echo "Installing barrow[$extras] into .venv …" >&2
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -e ".[$extras]" 2>.venv/pip.log \
      || { cat .venv/pip.log >&2; exit 1; }
    echo "$stamp" > ".venv/stamp-$extras"
  fi
}
