"""Keys of the controller: one life of one workload on one node; and names that topics carry.

The name belongs to the key, so that a request that pairs a uid with a foreign name never meets the
requests for the real one.
"""

from typing import Any

from msgspec import Struct

from evictd_schemas import PodTarget
from evictd_schemas.topics import Place


class Key(Struct, frozen=True, kw_only=True):
    """Node, namespace, name and uid, none of which holds a slash."""

    node: str
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return "/".join((self.node, self.namespace, self.name, self.uid))

    @property
    def place(self) -> tuple[str, str]:
        """Under which name an observation would list it."""
        return self.namespace, self.name


def key_of(node: str, namespace: str, pod: PodTarget) -> Key:
    """The key of a target."""
    return Key(node=node, namespace=namespace, name=pod.name, uid=pod.uid)


def read_key(text: str) -> Key:
    """A key as text, read back."""
    node, namespace, name, uid = text.split("/")
    return Key(node=node, namespace=namespace, name=name, uid=uid)


def levels_of(place: Place[Any]) -> tuple[str, str, str]:
    """Requester, namespace and name of a request, as its topic tells them."""
    return place.participant, place.names["namespace"], place.names["name"]
