"""Units of systemd, where it manages the machine; it is spoken to through `systemctl`.

- `systemctl`: the program as a child process, bounded in time and size
- `unit`: one unit as systemd shows it
- `never`: units that are never stopped
- `ending`: one stop
- `manager`: systemd, for whoever has to stop what it manages
"""

from evictd.runtimes.systemd.manager import Manager
from evictd.runtimes.systemd.systemctl import Systemctl

__all__ = ["Manager", "Systemctl"]
