"""Where a broker is, read from one URL. It knows nothing of connecting."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from evictd.core.errors import InputError
from evictd.core.wording import without_logins

PORTS = {"mqtt": 1883, "mqtts": 8883}
PORT_MAX = 65_535


@dataclass(frozen=True, kw_only=True)
class Address:
    """A broker and the login there; `tls` means the system's certificate authorities."""

    host: str
    port: int = PORTS["mqtt"]
    username: str | None = None
    password: str | None = None
    tls: bool = False

    @property
    def url(self) -> str:
        """Without the login, so that it may be shown."""
        return f"{'mqtts' if self.tls else 'mqtt'}://{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Whether the broker is on this machine."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def address(url: str) -> Address:
    """`mqtt://user:password@host:port`, or `mqtts` for TLS. Raises `InputError`."""
    shown = without_logins(url)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InputError(f"{shown!r} names no host, or a port that cannot be") from error
    if parts.scheme not in PORTS:
        raise InputError(f"{shown!r} is no broker: it begins with mqtt:// or mqtts://")
    if not parts.hostname:
        raise InputError(f"{shown!r} names no host")
    return Address(
        host=parts.hostname,
        port=port or PORTS[parts.scheme],
        username=None if parts.username is None else unquote(parts.username),
        password=None if parts.password is None else unquote(parts.password),
        tls=parts.scheme == "mqtts",
    )
