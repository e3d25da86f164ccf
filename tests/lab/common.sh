# Shell functions that the lab's engines share: packages, waiting for an answer, control groups.

export DEBIAN_FRONTEND=noninteractive

# Another process may hold apt's lock: wait for it instead of failing.
apt_get() { apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }

# Two test runs may want the cache filled at the same moment.
alone() { # CACHE
  mkdir -p "$1"
  exec 9>"$1/preparation.lock"
  flock 9
}

# Install those of these packages that are not there.
install_missing() { # LOG PACKAGE...
  local log=$1 package missing=()
  shift
  for package; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  apt_get update
  # RUNLEVEL=1: no package may start a service of its own on this machine.
  RUNLEVEL=1 apt_get install -y --no-install-recommends "${missing[@]}" >"$log"
}

# Whether a command succeeds in time; it is tried ten times a second.
answers() { # TRIES COMMAND...
  local tries=$1
  shift
  for _ in $(seq "$tries"); do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.1
  done
  return 1
}

# Only what is inside these groups is ended: an engine that was killed leaves containers behind.
take_cgroups_away() { # FOLDER...
  local folder
  for folder; do
    [ -d "$folder" ] || continue
    for _ in $(seq 100); do
      find "$folder" -name cgroup.procs -exec cat {} + 2>/dev/null | xargs -r kill -KILL 2>/dev/null || true
      find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || true
      [ -d "$folder" ] || break
      sleep 0.1
    done
  done
}
