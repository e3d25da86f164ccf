"""The controller: one Eviction a target, which responder is active, deadlines, the end.

It decides nothing itself; `evictd.core.protocol` does.
"""

from evictd.controller.service import Controller

__all__ = ["Controller"]
