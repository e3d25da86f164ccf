"""Which endpoints of an engine are asked at all, and when: what a socket proxy has to let through.

Whoever adds a call adds it here; tests hold every call against this list.
"""

import re

LOOKING = (
    "GET /version",
    "GET /info",
    "GET /containers/json",
    "GET /containers/{id}/json",
    "GET /images/{id}/json",
    "GET /events",
)
"""To know what runs, over and over; never with sizes, which an engine counts for seconds."""
OUT_OF_SIGHT = ("GET /containers/{id}/stats",)
"""For usage, only of an engine whose control groups are not this machine's: an answer takes one or
two seconds."""
ACTING = (
    "POST /containers/{id}/stop",
    "POST /containers/{id}/start",
    "POST /images/prune",
    "POST /build/prune",
)
"""In mode `act`: to stop and start, and to give space back."""
SWITCHED_ON = (
    "GET /images/json",
    "GET /system/df",
    "DELETE /images/{id}",
    "DELETE /containers/{id}",
)
"""For a step of `reclaim:` that is switched on, and to say what one would take."""
ALL = (*LOOKING, *OUT_OF_SIGHT, *ACTING, *SWITCHED_ON)

VERSION = re.compile(r"^/v\d+\.\d+(?=/)")


def endpoint(method: str, path: str) -> str | None:
    """The one of `ALL` that a call is, None for any other. The path as it travels."""
    asked = f"{method} {VERSION.sub('', path)}"
    return next((known for known in ALL if _pattern(known).fullmatch(asked)), None)


def _pattern(known: str) -> re.Pattern[str]:
    """A name of an image may hold slashes; what is known without an id comes first."""
    return re.compile(re.escape(known).replace(r"\{id\}", "(?!json$).+"))
