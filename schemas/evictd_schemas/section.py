"""What every part of a file is made of that people write. It knows no part of it."""

from msgspec import Struct


class Section(
    Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    forbid_unknown_fields=True,
):
    """What all parts of the file have in common: a key that nobody knows is a mistake."""
