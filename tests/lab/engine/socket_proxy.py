"""Stands in for wollomatic/socket-proxy: the same flags, as far as the Compose file uses them.

Lets a request through when its path matches the expression for its method from end to end; refuses
every other one with 403. One request a connection, so that none slips past behind another one.
"""

import re
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path

ENGINE = "/var/run/docker.sock"
PORT = 2375
HEAD_BYTES_MAX = 65_536
REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def main() -> None:
    """Serve until SIGTERM, which the first process of a container ignores unless told."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    given = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
    allowed = {
        name.removeprefix("allow"): re.compile(expression)
        for name, expression in given.items()
        if name.removeprefix("allow").isupper()
    }
    with socket.create_server((given["listenip"], PORT)) as server:
        while True:
            client, _ = server.accept()
            threading.Thread(target=serve, args=(client, allowed), daemon=True).start()


def serve(client: socket.socket, allowed: dict[str, re.Pattern[str]]) -> None:
    """Answer one connection."""
    with client, socket.socket(socket.AF_UNIX) as engine:
        head, body = read_head(client)
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        path = target.split("?", 1)[0]
        if method not in allowed or not allowed[method].fullmatch(path):
            sys.stdout.write(f"refused: {method} {target}\n")
            sys.stdout.flush()
            client.sendall(REFUSED)
            return
        engine.connect(ENGINE)
        kept = [line for line in head.split("\r\n") if not line.lower().startswith("connection:")]
        engine.sendall("\r\n".join([*kept, "Connection: close", "", ""]).encode() + body)
        threading.Thread(target=pass_on, args=(client, engine), daemon=True).start()
        pass_on(engine, client)


def read_head(client: socket.socket) -> tuple[str, bytes]:
    """Request line and headers, and what of the body came with them."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < HEAD_BYTES_MAX:
        part = client.recv(HEAD_BYTES_MAX)
        if not part:
            break
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return head.decode(), body


def pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Copy until the source ends; a side that is gone ends both."""
    with suppress(OSError):
        while data := source.recv(HEAD_BYTES_MAX):
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    if not Path(ENGINE).is_socket():
        sys.exit(f"{ENGINE} is no socket")
    main()
