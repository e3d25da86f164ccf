"""Containers of a Docker Engine, or of Podman's compatible socket.

- `inspection`: the engine's answers, as far as they are read here
- `naming`: namespace and name of a container
- `labels`: what a container's owner wrote about it
- `ownership`: who manages a container, and which containers are evictd's own parts, by an address
  too (`reaching`)
- `units`: containers that a unit of systemd runs
- `known`: what is asked of an engine once
- `cgroups`: where a container can be measured
- `pods`: a container as a workload; `reading`: all of them
- `engine`: the engine's socket, every call bounded
- `stopping`: ending one
- `starting`: bringing one back
- `reclaiming`: giving space back, by the steps `pruning`, `unused_images`, `dead_containers` and
  `long_logs`, each a `sweep`; `image_uses` remembers what was used when
- `runtime`: the `Runtime`

The endpoints used are: GET /version, /info, /containers/json, /containers/{id}/json,
/images/{id}/json, /events; POST /containers/{id}/stop, for Podman
/containers/{id}/kill besides, /containers/{id}/start, and /images/prune and /build/prune when
reclaiming. A step
of `reclaim:` that is switched on, or a dry run, asks GET /images/json and /system/df, and DELETEs
/images/{name} and /containers/{id}. The statistics call is never made.
"""

from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.runtime import DockerRuntime, Places

__all__ = ["DockerRuntime", "Engine", "Places"]
