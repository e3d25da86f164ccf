"""What every part of the configuration file is made of. It knows no part of it."""

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
