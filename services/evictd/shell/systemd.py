"""What systemd is told: ready, one line of status, alive. Silent where no socket was given.

[sd_notify(3)]
"""

import os
import socket
from collections.abc import Mapping


class Notifier:
    """Sends datagrams to `NOTIFY_SOCKET`; one that cannot be sent now is left out."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")

    def tell(self, **fields: str) -> None:
        """Such as `READY="1"`, `STATUS="connected"`, `WATCHDOG="1"`."""
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):  # a name without a file
            address = "\0" + address[1:]
        text = "\n".join(f"{name}={value}" for name, value in fields.items())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.setblocking(False)
            try:
                channel.sendto(text.encode(), address)
            except OSError:
                return  # systemd is busy or gone: there is nobody to tell
