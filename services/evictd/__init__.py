"""evictd keeps a machine that runs containers alive when memory, disk, inodes or process ids run
low."""
