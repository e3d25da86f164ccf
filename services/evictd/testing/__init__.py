"""Doubles for tests and demonstrations, kept to the contracts of what they stand for.

- `FakeRuntime`: workloads in memory
- `staged`: a node in memory on which a responder of one's own is tried

Nothing in the product imports this room, and nothing here imports a test framework.
"""

from evictd.testing.runtime import FakeRuntime
from evictd.testing.stage import Stage, staged

__all__ = ["FakeRuntime", "Stage", "staged"]
