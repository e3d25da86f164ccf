"""Doubles for tests and demonstrations, kept to the contracts of what they stand for.

Nothing in the product imports this room, and nothing here imports a test framework.
"""

from evictd.testing.runtime import FakeRuntime

__all__ = ["FakeRuntime"]
