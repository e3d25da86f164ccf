#!/usr/bin/env bash
# Podman behind its Docker-compatible socket, for one test run, from nothing.  As root:
#
#   podman.sh packages    install Podman and what it needs to run a container
#   podman.sh start       start its service and wait until it answers
#   podman.sh image TAR   import a file system as the image "base"
#   podman.sh stop        end its containers and the service, and take cgroups and folder away
#   podman.sh sweep       stop every service in PODMAN_CACHE whose test run is gone
#
# PODMAN_FOLDER  what belongs to this service alone: socket, images, settings, log
# PODMAN_CGROUP  the cgroup of all its containers; PODMAN_CAP_MIB bounds their memory together
# PODMAN_USER    whose engine it is: root, or an unprivileged user ("nobody"), who gets no cgroup for
#                a container on cgroup v1: his containers then live in PODMAN_CGROUP itself
#
# Nothing is written to /etc, and all mounts are made in a name space that ends with the service.
set -euo pipefail

PODMAN_CACHE=${PODMAN_CACHE:-/var/tmp/evictd-engine}
PODMAN_USER=${PODMAN_USER:-root}
PODMAN_FOLDER=${PODMAN_FOLDER:-$PODMAN_CACHE/podman-$PODMAN_USER-$$}
PODMAN_CGROUP=${PODMAN_CGROUP:-evictd-${PODMAN_FOLDER##*/}}
PODMAN_CAP_MIB=${PODMAN_CAP_MIB:-1536}
SOCKET=$PODMAN_FOLDER/run/podman/podman.sock
export DOCKER_HOST=unix://$SOCKET
. "$(dirname "$0")/../common.sh"

packages() {
  alone "$PODMAN_CACHE"
  install_missing "$PODMAN_CACHE/podman-apt.log" podman crun runc netavark aardvark-dns uidmap
}

# Its own limits on open files and processes are higher than a container may set them; crun refuses a
# hybrid layout of cgroups; there is no systemd and no journal.
settings() {
  cat >"$PODMAN_FOLDER/containers.conf" <<END
[containers]
default_ulimits = ["nofile=20000:20000", "nproc=20000:20000"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "$PODMAN_FOLDER/networks"
END
  # A user without a range of ids owns all files of an image himself.
  cat >"$PODMAN_FOLDER/storage.conf" <<END
[storage]
driver = "overlay"
graphroot = "$PODMAN_FOLDER/storage"
rootless_storage_path = "$PODMAN_FOLDER/storage"
runroot = "$PODMAN_FOLDER/run/storage"
[storage.options.overlay]
ignore_chown_errors = "true"
END
}

groups() {
  local hierarchy
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    echo "/sys/fs/cgroup/$PODMAN_CGROUP"
  else
    for hierarchy in /sys/fs/cgroup/*/; do echo "$hierarchy$PODMAN_CGROUP"; done
  fi
}

# A group of cpuset takes nobody before it has been told which processors and memory it may use.
prepare_groups() {
  local folder limit file
  for folder in $(groups); do
    mkdir -p "$folder"
    for file in cpuset.cpus cpuset.mems; do
      if [ -f "$folder/$file" ]; then cat "$folder/../$file" >"$folder/$file"; fi
    done
    for limit in memory.limit_in_bytes memory.max; do
      if [ -f "$folder/$limit" ]; then echo $((PODMAN_CAP_MIB << 20)) >"$folder/$limit"; fi
    done
  done
}

start() {
  local folder as=()
  mkdir -p "$PODMAN_FOLDER"/{run/podman,storage,tmp,networks,home,lib}
  settings
  prepare_groups
  if [ "$PODMAN_USER" != root ]; then
    as=(setpriv --reuid "$PODMAN_USER" --regid "$(id -g "$PODMAN_USER")" --clear-groups)
    chown -R "$PODMAN_USER" "$PODMAN_FOLDER"
    chmod 700 "$PODMAN_FOLDER/run"
  fi
  # Into these even a service with folders of its own puts something.
  mkdir -p /var/lib/containers /run/containers
  for folder in $(groups); do echo $$ >"$folder/cgroup.procs"; done
  setsid unshare --mount --propagation private sh -c '
    mount --bind "$1/lib" /var/lib/containers
    mount --bind "$1/lib" /run/containers
    shift
    exec "$@"' sh "$PODMAN_FOLDER" "${as[@]}" env -i PATH="$PATH" HOME="$PODMAN_FOLDER/home" \
    XDG_RUNTIME_DIR="$PODMAN_FOLDER/run" TMPDIR="$PODMAN_FOLDER/tmp" \
    CONTAINERS_CONF="$PODMAN_FOLDER/containers.conf" CONTAINERS_STORAGE_CONF="$PODMAN_FOLDER/storage.conf" \
    podman --tmpdir "$PODMAN_FOLDER/run/libpod" system service --time=0 "unix://$SOCKET" \
    >"$PODMAN_FOLDER/log" 2>&1 </dev/null &
  answers 200 docker version || { cat "$PODMAN_FOLDER/log" >&2; exit 1; }
}

stop() {
  docker ps --all --quiet 2>/dev/null | xargs -r timeout 30 docker rm --force >/dev/null 2>&1 || true
  # The service is in its groups too, and so is all that it has started.
  take_cgroups_away $(groups)
  rm -rf "$PODMAN_FOLDER"
}

# A folder is named after its user and the process of its test run.
sweep() {
  local folder
  for folder in "$PODMAN_CACHE"/podman-*-[0-9]*; do
    [ -d "$folder" ] || continue
    [ -d "/proc/${folder##*-}" ] || PODMAN_FOLDER=$folder PODMAN_CGROUP=evictd-${folder##*/} "$0" stop
  done
}

case ${1:-} in
packages | start | stop | sweep) "$1" ;;
image) docker import "$2" base >/dev/null ;;
*)
  sed -n '4,9p' "$0" >&2
  exit 2
  ;;
esac
