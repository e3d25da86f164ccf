"""Workloads that are control groups below one parent, on cgroup v1, v2 and both side by side.

- `group`: one control group: who is in it, since when, and how it is signalled
- `owners`: which control groups belong to somebody else and are never touched
- `runtime`: the `Runtime`
"""

from evictd.runtimes.cgroup.runtime import CgroupRuntime, Places

__all__ = ["CgroupRuntime", "Places"]
