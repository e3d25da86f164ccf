"""Units of systemd, where it manages the machine; it is spoken to through `systemctl`.

- `systemctl`: the program as a child process, bounded in time and size
- `unit`: one unit as systemd shows it; `whole`: with what goes with it
- `never`: units that are never stopped
- `ending`: one stop
- `companions`: what went with it, and comes back; `companion_memory`: the file of it
- `manager`: systemd, for whoever has to stop what it manages
- `selection`: which units were listed; `lives`: which of them are up
- `pods`: a unit as the wire's `Pod`; `runtime`: the `Runtime`
"""

from evictd.runtimes.systemd.manager import Manager
from evictd.runtimes.systemd.runtime import Places, SystemdRuntime
from evictd.runtimes.systemd.selection import Selection
from evictd.runtimes.systemd.systemctl import Systemctl

__all__ = ["Manager", "Places", "Selection", "Systemctl", "SystemdRuntime"]
