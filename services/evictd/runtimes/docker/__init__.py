"""Containers of a Docker Engine, or of Podman's compatible socket.

- `inspection`: the engine's answers, as far as they are read here
- `naming`: namespace and name of a container
- `labels`: what a container's owner wrote about it
- `ownership`: who manages a container, and which containers are evictd's own parts, by an address
  too (`reaching`)
- `units`: containers that a unit of systemd runs
- `known`: what is asked of an engine once
- `cgroups`: where a container can be measured; `layers`: where it writes
- `pods`: a container as a workload; `reading`: all of them
- `engine`: the engine's socket, every call bounded
- `starting`: bringing one back; `sharing`: who has lost its network then
- `reclaiming`: giving space back, by the steps `pruning`, `unused_images`, `dead_containers` and
  `long_logs`, each a `sweep`
- `images`: how they are called; `image_uses`: what was used when; `image_watch`: noticing it, with
  `container_folder` as a witness; `image_memory`: the file of it
- `runtime`: the `Runtime`
- `rights`: what an engine, or the proxy before it, lets us ask

Only what is listed in `endpoints` is ever asked of an engine. Usage comes from the files of control
groups, and from the statistics call only where those are out of our sight (`statistics`, by its
`figures`).
"""

from evictd.runtimes.docker.engine import Engine
from evictd.runtimes.docker.runtime import DockerRuntime, Places

__all__ = ["DockerRuntime", "Engine", "Places"]
