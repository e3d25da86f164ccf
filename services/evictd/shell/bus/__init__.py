"""The bus.

A router in memory that alone serves tests and simulation, and a link that mirrors it to MQTT.

Workers of one process hand each other the same encoded messages through the router, with the broker
as a mirror, so that a stalled or dead broker delays what others see and never a decision. [design,
law 3]
"""

from evictd.shell.bus.interface import Bus, Delivery, Listener, Listing, Mirror, attached
from evictd.shell.bus.router import Router

__all__ = ["Bus", "Delivery", "Listener", "Listing", "Mirror", "Router", "attached"]
