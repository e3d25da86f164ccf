#!/usr/bin/env bash
# A Docker engine of one's own, for one test run, from nothing.  As root:
#
#   engine.sh packages           install engine, Compose 1.29, Compose v2 and buildx
#   engine.sh base               make the file system that the stand-in images are imported from
#   engine.sh start host|netns   start dockerd: "host" may reach package indexes, "netns" is sealed off
#   engine.sh again host|netns   end dockerd as a restart of the machine does, and start it: containers stay
#   engine.sh images             import the stand-ins for the images that the Compose files name
#   engine.sh inside COMMAND...  run a command where published ports are (dockerd's network namespace)
#   engine.sh beside COMMAND...  run a command that sees the engine's files (dockerd's mount namespace)
#   engine.sh environment        print the variables that a client of this engine needs
#   engine.sh stop               end every container and dockerd, and take its cgroups and leftovers away
#   engine.sh remove             stop, then remove images and build cache too
#   engine.sh sweep              stop every engine in the cache whose test run is gone
#
# ENGINE_CACHE   what is downloaded once and used by every engine: packages, base file system
# ENGINE_FOLDER  what belongs to this engine alone: socket, images, log
# ENGINE_CGROUP  the cgroup of all its containers; ENGINE_CAP_MIB bounds their memory together, so that
#                a test that fills memory never endangers the machine
# ENGINE_DATA_MIB  where given, the engine's data is on a file system of its own of that size, with
#                ENGINE_DATA_INODES inodes: in memory, in dockerd's mount namespace, and gone with it
#
# Nothing here names a package mirror: packages come from wherever this machine's own apt and pip get
# theirs.  No image registry is needed: the images are made of Debian's packages.
set -euo pipefail

ENGINE_CACHE=${ENGINE_CACHE:-/var/tmp/evictd-engine}
ENGINE_FOLDER=${ENGINE_FOLDER:-$ENGINE_CACHE/engine-0}
ENGINE_CGROUP=${ENGINE_CGROUP:-evictd-lab-0}
ENGINE_CAP_MIB=${ENGINE_CAP_MIB:-1536}
ENGINE_DATA_MIB=${ENGINE_DATA_MIB:-}
ENGINE_DATA_INODES=${ENGINE_DATA_INODES:-0}
HERE=$(cd "$(dirname "$0")" && pwd)
PID_FILE=$ENGINE_FOLDER/dockerd.pid
# Data that is kept from run to run, or the empty folder over which the small file system is mounted.
DATA=$ENGINE_FOLDER/data
[ -z "$ENGINE_DATA_MIB" ] || DATA=$ENGINE_FOLDER/small
BASE=$ENGINE_CACHE/base.tar
PLUGINS=$ENGINE_CACHE/client/cli-plugins
TRUSTED=/etc/ssl/certs/ca-certificates.crt
# Debian's release for the stand-ins: its Python and Mosquitto are the ones nearest to the real images.
RELEASE=trixie
export DOCKER_HOST=unix://$ENGINE_FOLDER/docker.sock DOCKER_CONFIG=$ENGINE_CACHE/client
. "$HERE/../common.sh"

mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | head -n 1
}

packages() {
  alone "$ENGINE_CACHE"
  install_missing "$ENGINE_CACHE/apt.log" docker.io docker-compose mmdebstrap debian-archive-keyring iptables iproute2 \
    ca-certificates
  [ -x "$PLUGINS/docker-compose" ] || client_plugins
}

# Compose v2 and buildx are not in every Debian: take the two files out of the release that has them,
# with an apt state of its own, and leave the machine's sources as they are.
client_plugins() {
  local state=$ENGINE_CACHE/apt
  rm -rf "$state" "$ENGINE_CACHE/unpacked"
  mkdir -p "$state"/{lists,cache/archives}/partial "$PLUGINS" "$ENGINE_CACHE/unpacked"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $RELEASE main" >"$state/sources.list"
  local options=(-o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User=root)
  apt_get "${options[@]}" update
  (cd "$ENGINE_CACHE/unpacked" && apt_get "${options[@]}" download docker-compose docker-buildx)
  for archive in "$ENGINE_CACHE"/unpacked/*.deb; do dpkg-deb -x "$archive" "$ENGINE_CACHE/unpacked"; done
  cp "$ENGINE_CACHE"/unpacked/usr/libexec/docker/cli-plugins/* "$PLUGINS/"
  rm -rf "$state" "$ENGINE_CACHE/unpacked"
}

base() {
  alone "$ENGINE_CACHE"
  [ -s "$BASE" ] && return
  # A network index may be signed by an authority that only this machine knows: hand its bundle over.
  mmdebstrap --quiet --variant=minbase --mode=root --format=tar \
    --include=python3,python3-pip,python3-venv,ca-certificates,mosquitto,mosquitto-clients \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="copy-in $TRUSTED ${TRUSTED%/*}" \
    "$RELEASE" "$BASE.partial" "$(mirror)"
  mv "$BASE.partial" "$BASE"
}

images() {
  docker image inspect evictd-lab-base >/dev/null 2>&1 || import_base
  # BuildKit would need a network to look the base image up by name; the classic builder does not.
  export DOCKER_BUILDKIT=0
  stand_in python:3.12-slim python
  stand_in eclipse-mosquitto:2.1.2-alpine mosquitto
  stand_in wollomatic/socket-proxy:1.10.0 socket-proxy
}

stand_in() {
  docker build --tag "$1" --file "$HERE/$2.dockerfile" "$HERE" >"$ENGINE_FOLDER/build.log" 2>&1 \
    || { cat "$ENGINE_FOLDER/build.log" >&2; exit 1; }
}

import_base() {
  local index settings
  settings="ENV PIP_CERT=$TRUSTED PIP_DISABLE_PIP_VERSION_CHECK=1"
  index=$(python3 -m pip config get global.index-url 2>/dev/null || true)
  index=${PIP_INDEX_URL:-$index}
  [ -z "$index" ] || settings="$settings PIP_INDEX_URL=$index"
  docker import --change "$settings" "$BASE" evictd-lab-base >/dev/null
}

memory_group() {
  if [ -d /sys/fs/cgroup/memory ]; then echo "/sys/fs/cgroup/memory/$ENGINE_CGROUP memory.limit_in_bytes"
  else echo "/sys/fs/cgroup/$ENGINE_CGROUP memory.max"; fi
}

start() {
  mkdir -p "$ENGINE_FOLDER"
  stop
  launch "$1"
}

again() {
  local process
  if process=$(engine_process); then end "$process"; fi
  rm -f "$PID_FILE"
  launch "$1"
}

launch() {
  local arguments folder limit mounted=()
  read -r folder limit < <(memory_group)
  mkdir -p "$folder"
  echo $((ENGINE_CAP_MIB << 20)) >"$folder/$limit"
  echo '{}' >"$ENGINE_FOLDER/daemon.json"
  arguments=(--config-file "$ENGINE_FOLDER/daemon.json" --data-root "$DATA" --exec-root "$ENGINE_FOLDER/run"
    --pidfile "$PID_FILE" --host "$DOCKER_HOST" --cgroup-parent "/$ENGINE_CGROUP")
  if [ -n "$ENGINE_DATA_MIB" ]; then
    mkdir -p "$DATA"
    mounted=(sh -c 'mount -t tmpfs -o "$1" small "$2" && shift 2 && exec "$@"' mounted
      "size=${ENGINE_DATA_MIB}m,nr_inodes=$ENGINE_DATA_INODES" "$DATA")
  fi
  case $1 in
  host)
    # No bridge, no rules, no forwarding: the machine's own network stays as it is.
    setsid unshare --mount --propagation private "${mounted[@]}" dockerd "${arguments[@]}" \
      --bridge=none --iptables=false --ip6tables=false --ip-forward=false \
      >"$ENGINE_FOLDER/log" 2>&1 </dev/null &
    ;;
  netns)
    setsid unshare --mount --net --propagation private "${mounted[@]}" \
      sh -c 'ip link set lo up && exec dockerd "$@"' dockerd "${arguments[@]}" >"$ENGINE_FOLDER/log" 2>&1 </dev/null &
    ;;
  *) usage ;;
  esac
  answers 300 docker info || { cat "$ENGINE_FOLDER/log" >&2; exit 1; }
}

# The process of this engine, and of no other: a number alone may belong to somebody else by now.
engine_process() {
  local process
  process=$(cat "$PID_FILE" 2>/dev/null) || return 1
  { tr '\0' ' ' <"/proc/$process/cmdline"; } 2>/dev/null | grep -q -- "--pidfile $PID_FILE " || return 1
  echo "$process"
}

stop() {
  local process
  if process=$(engine_process); then
    docker ps --all --quiet | xargs -r docker rm --force --volumes >/dev/null 2>&1 || true
    docker volume ls --quiet | xargs -r docker volume rm >/dev/null 2>&1 || true
    docker network prune --force >/dev/null 2>&1 || true
    end "$process"
  fi
  rm -f "$PID_FILE"
  take_cgroups_away /sys/fs/cgroup/"$ENGINE_CGROUP" /sys/fs/cgroup/*/"$ENGINE_CGROUP"
  rmdir "$ENGINE_FOLDER/small" 2>/dev/null || true
}

end() {
  kill "$1"
  for _ in $(seq 150); do
    [ -d "/proc/$1" ] || return 0
    sleep 0.1
  done
  kill -KILL "$1"
}

environment() {
  echo "DOCKER_HOST=$DOCKER_HOST"
  echo "DOCKER_CONFIG=$DOCKER_CONFIG"
}

remove() {
  stop
  rm -rf "$ENGINE_FOLDER"
}

# A test run holds the lock beside its engine's folder; a lock that is free belongs to nobody.
sweep() {
  local lock number
  for lock in "$ENGINE_CACHE"/engine-*.lock; do
    [ -e "$lock" ] || continue
    number=${lock##*/engine-}
    number=${number%.lock}
    ENGINE_FOLDER=$ENGINE_CACHE/engine-$number ENGINE_CGROUP=evictd-lab-$number \
      flock --nonblock --conflict-exit-code 0 "$lock" "$0" stop
  done
}

usage() {
  sed -n '4,15p' "$0" >&2
  exit 2
}

case ${1:-} in
packages | base | images | stop | environment | remove | sweep) "$1" ;;
start | again) "$1" "${2:-netns}" ;;
inside)
  shift
  exec nsenter --net --target "$(engine_process)" "$@"
  ;;
beside)
  shift
  exec nsenter --mount --target "$(engine_process)" "$@"
  ;;
*) usage ;;
esac
