"""The collector looks at its machine and publishes one observation; it judges nothing.

- `sources`: what is read of the machine, one file a source
- `sight`: all sources of one machine, and one look at them together
- `probe`: one source with its own deadline, duration and success
- `listings`: what each runtime listed last
- `told_usage`: what runtimes tell of workloads that cannot be measured here
- `endings`: who has ended, for a list that is not whole
- `census`: when what workloads occupy on disk is counted again
- `rhythm`: when to look again, as pure functions
- `composition`: one look's figures as an Observation of bounded size
- `kernel_kills`, `faults`: events about kills by the kernel and about failing sources
- `stalls`: being woken by the kernel when memory stalls
- `service`: the worker
"""

from evictd.collector.service import Collector

__all__ = ["Collector"]
