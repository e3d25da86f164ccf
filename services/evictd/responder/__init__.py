"""The responders of evictd: the library for authors of their own, and the built-in one.

    from evictd.responder import Responder, Work, run

- `author`: what an author writes (`Responder`), and what the work is given (`Work`)
- `turns`, `registered`, `serving`: turns into work, the registration, the connection
- `command`, `webhook`, `workload_topic`: responders that need no Python; `question` is what is put
  to the last two
- `service`: the built-in responder that stops workloads through a runtime

Importing this package loads no runtime, no worker and no MQTT: that comes with `run` and `serve`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from evictd.core.turn_state import Ending
from evictd.responder.author import Expected, Respond, Responder, Work

if TYPE_CHECKING:
    from evictd.responder.serving import run, serve

__all__ = ["Ending", "Expected", "Respond", "Responder", "Work", "run", "serve"]


def __getattr__(name: str) -> Any:
    """What connects is loaded when it is used."""
    if name in ("run", "serve"):
        return getattr(import_module("evictd.responder.serving"), name)
    raise AttributeError(f"evictd.responder has no {name!r}")
