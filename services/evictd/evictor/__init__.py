"""The evictor: ranks, reclaims first, asks for one victim at a time, and publishes why.

It decides nothing itself; `evictd.core.decision` does.
"""

from evictd.evictor.service import Evictor

__all__ = ["Evictor"]
