#!/bin/busybox sh
# The guest's first program: finds the root disk and hands over to the init that the kernel's line names.
for command in mount umount insmod sleep cat switch_root; do
  /bin/busybox ln -s busybox "/bin/$command"
done
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
while read -r module; do
  [ ! -e "/lib/$module.ko" ] || insmod "/lib/$module.ko"
done </lib/order
for _ in $(/bin/busybox seq 200); do
  [ ! -b /dev/vda ] || break
  sleep 0.05
done
mount -t ext4 /dev/vda /root
for word in $(cat /proc/cmdline); do
  case $word in guest.init=*) init=${word#guest.init=} ;; esac
done
mount --move /dev /root/dev
umount /sys
umount /proc
exec switch_root /root "$init"
