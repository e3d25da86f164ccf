#!/bin/bash
# Runs the job: an archive on the second disk with a program `run`. What it prints goes to the first serial
# line, what it tells of its stories to the second. Then the machine ends.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mkdir -p /job /tmp
mount -t tmpfs tmpfs /tmp
tar -xf /dev/vdb -C /job --no-same-owner
cd /job
modprobe -a loop overlay
stty -F /dev/ttyS1 raw -echo
echo "guest: up after $(cut -d ' ' -f 1 /proc/uptime) s, kernel $(uname -r), process 1 is $(cat /proc/1/comm)"
echo "+cpu +io +memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
bash ./run
echo "guest: the job ended with $?"
sync
echo o >/proc/sysrq-trigger
sleep 30
