#!/usr/bin/env bash
# A small machine of one's own under QEMU's emulation: Debian with control groups v2 alone, all controllers on.
# As root, on x86-64:
#
#   guest.sh packages   install the emulator and what the image is made with
#   guest.sh image      make the image unless it is there; print the folder with kernel, initrd and root.ext4
#
# ENGINE_CACHE   where images are kept between runs, by what they are made of; shared with the lab's engines
#
# Nothing here names a package mirror or an index: packages come from wherever this machine's own apt and pip
# get theirs. The guest itself has no network. evictd is not in the image: it comes with each job.
set -euo pipefail

CACHE=${ENGINE_CACHE:-/var/tmp/evictd-engine}/guests
HERE=$(cd "$(dirname "$0")" && pwd)
PROJECT=$(cd "$HERE/../.." && pwd)
PYTHON=$PROJECT/.venv/bin/python # as ./test makes it; the machine's own may be too old for the project's file
TRUSTED=/etc/ssl/certs/ca-certificates.crt
# The newest Debian that is stable: a kernel and a systemd of its own, another Python than bookworm's.
RELEASE=trixie
KERNEL=linux-image-cloud-amd64
INCLUDED=python3,python3-pip,ca-certificates,mosquitto,mosquitto-clients,docker.io,docker-cli
INCLUDED+=,podman,crun
INCLUDED+=,systemd-sysv,dbus,iproute2,procps,kmod,e2fsprogs
# What the kernel needs to see a virtio disk; it has everything else built in or finds it on that disk.
DISK_MODULES=(virtio/virtio_ring virtio/virtio virtio/virtio_pci_legacy_dev virtio/virtio_pci_modern_dev
  virtio/virtio_pci block/virtio_blk)
IMAGE_SIZE=4G # sparse
export DEBIAN_FRONTEND=noninteractive

mirror() {
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Component: main' | head -n 1
}

# Another process may hold apt's lock: wait for it instead of failing.
apt_get() { apt-get -qq -o DPkg::Lock::Timeout=300 "$@"; }

# Two test runs may want the cache filled at the same moment.
alone() {
  mkdir -p "$CACHE"
  exec 9>"$CACHE/preparation.lock"
  flock 9
}

refuse() { # WHY
  echo "guest.sh: $1" >&2
  exit 1
}

packages() {
  local missing=()
  alone
  for package in qemu-system-x86 seabios busybox-static mmdebstrap debian-archive-keyring e2fsprogs kmod xz-utils; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if ((${#missing[@]})); then
    [ "$(id -u)" = 0 ] || refuse "missing, and only root can install: ${missing[*]}"
    apt_get update
    RUNLEVEL=1 apt_get install -y --no-install-recommends "${missing[@]}" >"$CACHE/apt.log"
  fi
}

# evictd's own needs and the test tools that its stories use, by the project's file.
python_packages() {
  "$PYTHON" - "$PROJECT/pyproject.toml" <<'PROGRAM'
import re, sys, tomllib
with open(sys.argv[1], "rb") as file:
    project = tomllib.load(file)
USED = ("pytest", "pytest-asyncio", "pytest-timeout", "hypothesis", "looptime", "blockbuster")
names = [re.match(r"[\w-]+", line)[0] for line in project["dependency-groups"]["dev"]]
missing = set(USED) - set(names)
assert not missing, f"not among the test tools: {missing}"
print("\n".join([*project["project"]["dependencies"], *USED]))
PROGRAM
}

# The folder is named by everything that it is made of, so that an old image is never taken for a new one.
image() {
  local key folder
  alone
  key=$( (python_packages && cat "$PROJECT/constraints.txt" "$0" "$HERE"/inside/*) | sha256sum | cut -c 1-16)
  folder=$CACHE/$key
  if [ ! -d "$folder" ]; then
    [ "$(id -u)" = 0 ] || refuse "the image can only be made by root"
    [ "$(uname -m)" = x86_64 ] || refuse "the image can only be made on x86-64"
    rm -rf "$CACHE"/*.partial
    # A shell of its own, since in a condition this one would go on after an error.
    "$0" make "$folder.partial" >"$CACHE/image.log" 2>&1 || { tail -n 40 "$CACHE/image.log" >&2; exit 1; }
    mv "$folder.partial" "$folder"
    take_old_ones_away "$key"
  fi
  touch "$folder"
  echo "$folder"
}

# Those that no run has asked for in the last day.
take_old_ones_away() { # KEY
  find "$CACHE" -mindepth 1 -maxdepth 1 -type d ! -name "$1" -mmin +1440 -exec rm -rf {} +
}

make() { # FOLDER
  local root=$1/root
  mkdir -p "$1"
  python_packages >"$1/python.txt"
  system "$1" "$root"
  initial_disk "$1" "$root"
  install -m 755 "$HERE/inside/plain.sh" "$root/sbin/guest-plain"
  install -m 755 "$HERE/inside/job.sh" "$root/sbin/guest-job"
  install -m 644 "$HERE/inside/guest-job.service" "$root/etc/systemd/system/"
  ln -s ../guest-job.service "$root/etc/systemd/system/multi-user.target.wants/"
  : >"$root/etc/fstab"
  truncate -s "$IMAGE_SIZE" "$1/root.ext4"
  mkfs.ext4 -q -F -d "$root" "$1/root.ext4"
  rm -rf "$root"
}

# One Debian with kernel, engines and Python packages. Services are disabled: a story starts what it wants.
system() { # FOLDER ROOT
  local index
  index=${PIP_INDEX_URL:-$("$PYTHON" -m pip config get global.index-url 2>/dev/null || true)}
  cp "$PROJECT/constraints.txt" "$1/constraints.txt"
  cat >"$1/inside.sh" <<PROGRAM
set -eu
cd /tmp
kernel=\$(apt-cache depends $KERNEL | awk '/Depends:/ {print \$2; exit}')
apt-get -qq download "\$kernel"
dpkg-deb -x "\$kernel"_*.deb /
rm "\$kernel"_*.deb
depmod "\$(ls /lib/modules)"
export PIP_CERT=$TRUSTED ${index:+PIP_INDEX_URL=$index}
python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --break-system-packages \
  --no-cache-dir --ignore-installed --constraint constraints.txt --requirement python.txt
systemctl disable --quiet docker.service docker.socket containerd.service mosquitto.service \\
  podman.service podman.socket podman-auto-update.timer podman-restart.service podman-clean-transient.service
systemctl mask --quiet serial-getty@ttyS0.service getty@tty1.service
PROGRAM
  # A network index may be signed by an authority that only this machine knows: hand its bundle over.
  mmdebstrap --quiet --variant=minbase --mode=root --format=directory --include="$INCLUDED" \
    --aptopt='APT::Install-Recommends "0"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook="copy-in $TRUSTED ${TRUSTED%/*}" \
    --customize-hook="copy-in $1/inside.sh $1/python.txt $1/constraints.txt /tmp" \
    --customize-hook='chroot "$1" sh /tmp/inside.sh' \
    "$RELEASE" "$2" "$(mirror)"
}

# busybox and the few modules without which there is no disk.
initial_disk() { # FOLDER ROOT
  local disk=$1/initial module found
  mkdir -p "$disk"/{bin,lib,proc,sys,dev,root}
  cp "$2"/boot/vmlinuz-* "$1/kernel"
  cp /bin/busybox "$disk/bin/"
  install -m 755 "$HERE/inside/initial.sh" "$disk/init"
  for module in "${DISK_MODULES[@]}"; do
    for found in "$2"/lib/modules/*/kernel/drivers/"$module".ko*; do
      case $found in
      *.xz) xz -dc "$found" >"$disk/lib/${module##*/}.ko" ;;
      *.ko) cp "$found" "$disk/lib/" ;;
      esac
    done
    echo "${module##*/}"
  done >"$disk/lib/order"
  (cd "$disk" && find . | busybox cpio -o -H newc | gzip -1) >"$1/initrd"
  rm -rf "$disk"
}

case ${1:-} in
packages | image) "$1" ;;
make) make "$2" ;;
*)
  sed -n '2,7p' "$0" >&2
  exit 2
  ;;
esac
