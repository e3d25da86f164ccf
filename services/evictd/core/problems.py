"""A broken rule, as a value: every check returns all it finds. [contract 1, Rejection]"""

from msgspec import Struct


class Problem(Struct, frozen=True, kw_only=True):
    """One broken rule: the field's path as on the wire, and what is wrong with it.

    `code` names the rule where a program has to tell one from another.
    """

    field: str
    reason: str
    code: str = ""
