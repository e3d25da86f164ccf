# Shared by ./up and ./test: finds or makes what evictd needs on Debian and Ubuntu. POSIX sh, sourced.

say() { printf '%s\n' "$*" >&2; }

refuse() { # WHAT
  say "evictd: $1"
  say "evictd: with Docker nothing has to be installed: docker compose up"
  exit 1
}

# Installs packages as root, after printing the line; anybody else gets the line to hand to root.
# No package may start a service: RUNLEVEL=1 keeps init scripts from it, the mask keeps systemd.
packages() { # NAME...
  command -v apt-get >/dev/null || refuse "missing: $* (and there is no apt-get to install it)"
  line="apt-get install -y --no-install-recommends $*"
  [ "$(id -u)" -eq 0 ] || refuse "missing: $*; as root: $line"
  say "+ apt-get update && RUNLEVEL=1 $line"
  masked=
  if [ -d /run/systemd/system ] && ! systemctl cat mosquitto.service >/dev/null 2>&1; then
    systemctl mask --runtime --quiet mosquitto.service && masked=1
    trap unmask EXIT
  fi
  apt-get -qq update >&2 || refuse "apt-get update failed"
  RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends "$@" >&2 </dev/null ||
    refuse "$line failed"
  unmask
}

unmask() {
  [ -z "${masked:-}" ] || systemctl unmask --runtime --quiet mosquitto.service
  masked=
}

has() { # COMMAND, also where only root looks
  PATH="$PATH:/usr/sbin:/sbin" command -v "$1" >/dev/null 2>&1
}

mosquitto_here() {
  missing=
  has mosquitto || missing=mosquitto
  has mosquitto_pub || missing="$missing mosquitto-clients"
  # shellcheck disable=SC2086 # one word a package
  [ -z "$missing" ] || packages $missing
}

# The first Python that is new enough; sets `python`.
find_python() {
  for python in "${PYTHON:-python3}" python3.14 python3.13 python3.12 python3.11; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && return
  done
  return 1
}

python_here() {
  has python3 || packages python3 python3-venv
  find_python || packages python3.11 python3.11-venv
  find_python || refuse "evictd needs Python 3.11 or newer"
  # The package is named after the interpreter: python3-venv is that of Debian's own python3.
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    packages "$(basename "$python")-venv"
  fi
}

# Makes .venv, or leaves it alone when it was made whole from the same two files. The mark is
# written last, so that an interrupted installation is done again.
virtual_environment() { # [dev]
  mark=".venv/made-${1:-use}"
  wanted=$(cat pyproject.toml constraints.txt | cksum)
  if [ -x .venv/bin/python ] && [ "$(cat "$mark" 2>/dev/null)" = "$wanted" ]; then
    return
  fi
  [ -w . ] || refuse "$(pwd) cannot be written to; evictd keeps its environment in .venv there"
  python_here
  if ! .venv/bin/python -c 'import pip' 2>/dev/null; then
    say "+ $python -m venv .venv"
    "$python" -m venv --clear .venv || refuse "the virtual environment could not be made"
  fi
  say "+ .venv/bin/pip install --constraint constraints.txt --editable ."
  pip_install --editable . || refuse "the Python packages could not be installed"
  if [ "${1:-}" = dev ]; then
    .venv/bin/python -c "$DEV_PACKAGES" >.venv/dev.txt
    say "+ .venv/bin/pip install --constraint constraints.txt --requirement .venv/dev.txt"
    pip_install --requirement .venv/dev.txt || refuse "the test tools could not be installed"
  fi
  printf '%s\n' "$wanted" >"$mark"
}

pip_install() { # ARGUMENT...
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input \
    --root-user-action=ignore --constraint constraints.txt "$@" >&2
}

# The group `dev` of pyproject.toml; pip itself reads groups only from 25.1 on.
DEV_PACKAGES='
import tomllib
with open("pyproject.toml", "rb") as file:
    print("\n".join(tomllib.load(file)["dependency-groups"]["dev"]))
'
