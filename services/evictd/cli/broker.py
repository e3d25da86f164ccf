"""Which broker, and with which login: the configured one, or the one that evictd owns."""

from msgspec import structs  # noqa: F401
