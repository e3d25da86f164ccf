"""A Mosquitto's configuration, read for what others have got wrong in theirs.

[real files: websockets on 1883, a million queued messages, a save at each change] [field case M22]
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem
from evictd.shell.kernel_text import number

CHECK = "broker file"
QUEUE_MANY = 1_000_000
"""So many messages that wait for one reader fill a small machine."""
QUEUE_STOCK = 1_000
QUEUE_NEEDED = 10_000
"""Below it a large node's list is cut."""
SAVE_SECONDS_FEW = 60
PACKET_BYTES_NEEDED = 1 << 20
MQTT_PORT = "1883"
LOOPBACK = ("127.", "::1", "localhost")


class Listener(Struct, frozen=True, kw_only=True):
    """One `listener` line and what stands below it."""

    port: str
    address: str = ""
    protocol: str = "mqtt"

    @property
    def loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return self.address.startswith(LOOPBACK)


class BrokerFile(Struct, frozen=True, kw_only=True):
    """The values that count: the last of each key, listeners apart."""

    values: Mapping[str, str]
    listeners: tuple[Listener, ...] = ()

    def switched(self, key: str) -> bool:
        """Whether it is on."""
        return self.values.get(key, "").lower() == "true"

    def number(self, key: str) -> int | None:
        """None where it is not given, or is no number."""
        return number(self.values.get(key, ""))


def read(text: str) -> BrokerFile:
    """Lines of `key value`; `address` and `protocol` belong to the listener above them."""
    values: dict[str, str] = {}
    listeners: list[dict[str, str]] = []
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        value = value.strip()
        if not key or key.startswith("#"):
            continue
        if key == "listener":
            port, _, address = value.partition(" ")
            listeners.append({"port": port, "address": address.strip()})
        elif key == "protocol" and listeners:
            listeners[-1]["protocol"] = value
        else:
            values[key] = value
    return BrokerFile(values=values, listeners=tuple(Listener(**one) for one in listeners))


def findings(text: str, place: str) -> Iterator[Finding]:
    """Every known mistake; one line where there is none."""
    file = read(text)
    found = [*_doors(file), *_queues(file), *_saves(file)]
    yield from found or [ok(CHECK, f"{place}: nothing odd")]


def _doors(file: BrokerFile) -> Iterator[Finding]:
    for listener in file.listeners:
        if listener.protocol == "websockets" and listener.port == MQTT_PORT:
            yield problem(
                CHECK,
                f"port {listener.port} speaks WebSockets",
                means="evictd and mosquitto_sub cannot connect there",
                remedy=f"a listener of its own for WebSockets, and `listener {MQTT_PORT}` without "
                "`protocol websockets`",
            )
    password_file = file.values.get("password_file", "")
    if password_file.endswith(".conf"):
        yield problem(
            CHECK,
            f"password_file is {password_file}, a configuration",
            means="no login is known, and the broker may not start",
            remedy="a file made by mosquitto_passwd; the image reads its configuration from "
            "/mosquitto/config",
        )
    is_open = any(not one.loopback for one in file.listeners)
    if file.switched("allow_anonymous") and is_open:
        yield problem(
            CHECK,
            "allow_anonymous is true, and it listens to the network",
            means="whoever reaches it may stop workloads",
            remedy="allow_anonymous false with a password_file and an acl_file, or listen on "
            "127.0.0.1 only",
        )
    if file.values.get("password_file") and not file.values.get("acl_file"):
        yield note(
            CHECK,
            "there are logins and no acl_file",
            means="every login may write everything",
            remedy="acl_file with the output of `evictd access-list`",
        )


def _queues(file: BrokerFile) -> Iterator[Finding]:
    queued = file.number("max_queued_messages")
    if queued == 0 or (queued is not None and queued >= QUEUE_MANY):
        if not file.number("max_queued_bytes"):
            yield problem(
                CHECK,
                f"max_queued_messages is {queued}, without max_queued_bytes",
                means="a reader that has gone away fills the memory of this machine: the broker "
                "itself becomes what is short of it",
                remedy="max_queued_messages 100000, max_queued_bytes 67108864, "
                "persistent_client_expiration 1d",
            )
    elif (QUEUE_STOCK if queued is None else queued) < QUEUE_NEEDED:
        given = "not given, so 1000" if queued is None else str(queued)
        yield note(
            CHECK,
            f"max_queued_messages is {given}",
            means="a longer list is cut without a word",
            remedy="max_queued_messages 100000 and max_queued_bytes 67108864",
        )
    packet = file.number("max_packet_size")
    if packet is not None and 0 < packet <= PACKET_BYTES_NEEDED:
        yield problem(
            CHECK,
            f"max_packet_size is {packet}",
            means="a large observation reaches nobody",
            remedy="max_packet_size 4194304",
        )
    if file.switched("queue_qos0_messages"):
        yield note(
            CHECK,
            "queue_qos0_messages is true",
            means="old figures come in a burst after a reconnect",
            remedy="leave it out",
        )


def _saves(file: BrokerFile) -> Iterator[Finding]:
    interval = file.number("autosave_interval")
    if not file.switched("persistence") or interval is None:
        return
    if file.switched("autosave_on_changes"):
        yield problem(
            CHECK,
            f"autosave_on_changes is true with autosave_interval {interval}",
            means=f"the whole database is written after every {interval} changes: the broker is "
            "hundreds of times slower, and flash wears out",
            remedy="autosave_on_changes false, autosave_interval 900: evictd says everything again "
            "after a restart",
        )
    elif 0 < interval < SAVE_SECONDS_FEW:
        yield note(
            CHECK,
            f"autosave_interval is {interval} s",
            means="the whole database is written so often, also when nothing happens",
            remedy="autosave_interval 900",
        )
