"""What lies behind an error: the leaves of groups, and what unreadable input raises."""

import msgspec

UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding a payload or a file that others wrote may raise."""


def leaves(error: BaseException) -> list[BaseException]:
    """The errors that a task group has bundled, or the one that there is."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in leaves(part)]
    return [error]
