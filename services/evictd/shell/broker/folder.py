"""What the owned broker has on disk. Blocking.

The logins and the record of the running broker stay with evictd; configuration, access list, hashed
passwords and the database go into a folder that may belong to Mosquitto's own user.
"""

import json
import os
import pwd
import socket
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evictd.core.errors import HostError
from evictd.shell import whole_file
from evictd.shell.broker.access import USERS, WORKLOAD, Asking, access_list
from evictd.shell.broker.logins import new_password, password_file
from evictd.shell.bus.address import PORT_MAX
from evictd.shell.kernel_text import COUNTER_MAX, PROCESS_ID_MAX

USER = "mosquitto"
"""The account that the package makes; without it, or where it cannot reach the folder, the broker
runs as we do."""
PRIVATE = 0o600
"""The mode of what is written here: passwords are among it."""
RECORD_MAX = {"port": PORT_MAX, "pid": PROCESS_ID_MAX}
"""A greater number is none: somebody has written into our file."""
CONFIGURATION = """\
# Written by evictd, and again at its next start where it was changed.
listener {port} 127.0.0.1
allow_anonymous false
password_file {folder}/passwd
acl_file {folder}/acl
persistence true
persistence_location {folder}/
autosave_interval 900
persistent_client_expiration 1d
max_queued_messages 100000
max_queued_bytes 67108864
max_inflight_messages 100
max_packet_size 4194304
max_keepalive 300
set_tcp_nodelay true
log_dest stdout
log_type error
log_type warning
"""


class Folder:
    """The part of the state folder that is the broker's."""

    def __init__(self, state_folder: Path) -> None:
        self._state_folder = state_folder
        self.path = state_folder / "broker"
        self.configuration = self.path / "mosquitto.conf"
        self._logins = state_folder / "broker-logins.json"
        self._record = state_folder / "broker-record.json"

    def account(self) -> pwd.struct_passwd | None:
        """Whose process the broker becomes when we are root; None: it stays ours."""
        if os.geteuid() != 0:
            return None
        try:
            account = pwd.getpwnam(USER)
        except KeyError:
            return None
        open_to_all = all(parent.stat().st_mode & 0o001 for parent in self.path.parents)
        return account if open_to_all else None

    def write(self, port: int, askings: Sequence[Asking] = ()) -> dict[str, str]:
        """All the broker reads; gives the logins, which are kept from start to start."""
        users = (*USERS, WORKLOAD) if askings else USERS
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            logins = self.logins()
            logins |= {user: new_password() for user in users if user not in logins}
            _put(self._logins, json.dumps(logins).encode())
            _put(self.configuration, self._configuration(port).encode())
            _put(self.path / "acl", access_list(askings=askings).encode())
            _put(self.path / "passwd", password_file(logins).encode())
            self._hand_over()
        except OSError as error:
            raise HostError(
                f"the broker's folder {self.path} cannot be written: {error}"
            ) from error
        return logins

    def logins(self) -> dict[str, str]:
        """Users and passwords; empty where no broker has been started yet."""
        return {name: str(value) for name, value in _read(self._logins).items()}

    def record(self) -> dict[str, int]:
        """`port`, and `pid` and `started` of the last broker, as far as they are known."""
        found = _read(self._record)
        return {
            name: value
            for name, value in found.items()
            if type(value) is int and 0 < value <= RECORD_MAX.get(name, COUNTER_MAX)
        }

    def keep_record(self, **values: int) -> None:
        """Replace the record."""
        whole_file.replace(self._record, json.dumps(values).encode())

    def _configuration(self, port: int) -> str:
        text = CONFIGURATION.format(port=port, folder=self.path)
        stays_root = os.geteuid() == 0 and self.account() is None
        return f"{text}user root\n" if stays_root else text

    def _hand_over(self) -> None:
        account = self.account()
        if account is not None:
            for path in (self.path, *self.path.iterdir()):
                os.chown(path, account.pw_uid, account.pw_gid)


def _put(path: Path, content: bytes) -> None:
    """Unless it is there: a disk that is full keeps nobody from beginning anew."""
    try:
        is_private = stat.S_IMODE(path.stat().st_mode) == PRIVATE
        is_there = is_private and path.read_bytes() == content
    except OSError:
        is_there = False
    if not is_there:
        whole_file.replace(path, content, PRIVATE)


def free_port(preferred: int | None) -> int:
    """The preferred port if nobody listens there, else one that the kernel gives."""
    for port in (preferred, 0):
        if port is None:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise HostError("no port is free on the loopback interface")


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except PermissionError as error:
        raise HostError(f"{path} cannot be read: {error.strerror}; try it with sudo") from error
    except (OSError, ValueError, RecursionError) as error:
        raise HostError(f"{path} cannot be read: {error}; delete it to begin anew") from error
    if not isinstance(found, dict):
        raise HostError(f"{path} is not what evictd wrote; delete it to begin anew")
    return found
