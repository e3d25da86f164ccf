"""Formats of names and uids, and the domains that only Kubernetes may use.

[eviction-request-api 2.5] [contract 1]
"""

import re
from collections.abc import Iterator

from evictd.core.admission.kinds import invalid, required
from evictd.core.problems import Problem
from evictd_schemas.topics import segment_problem

DOMAIN_LENGTH_MAX = 253
KEY_LENGTH_MAX = 63
RESERVED = ("k8s.io", "kubernetes.io")

_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_KEY = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def dns_subdomain(name: str) -> bool:
    """Lower-case labels joined by dots, up to 253 characters."""
    return len(name) <= DOMAIN_LENGTH_MAX and _DOMAIN.fullmatch(name) is not None


def key_name(name: str) -> bool:
    """The part after the slash: letters, digits, `-`, `_`, `.`, not at its ends, up to 63."""
    return len(name) <= KEY_LENGTH_MAX and _KEY.fullmatch(name) is not None


def prefixed_key(name: str) -> bool:
    """`domain/key`, with exactly one slash."""
    domain, slash, key = name.partition("/")
    return slash == "/" and dns_subdomain(domain) and key_name(key)


def label_key(name: str) -> bool:
    """A key with or without a domain, as types of conditions are."""
    return key_name(name) or prefixed_key(name)


def reserved(name: str) -> bool:
    """Whether the domain of a name is Kubernetes' own, however it is written."""
    domain = name.partition("/")[0].lower().strip().rstrip(".")
    return any(domain == suffix or domain.endswith(f".{suffix}") for suffix in RESERVED)


def long_name(field: str, name: str, *, dns: bool) -> Iterator[Problem]:
    """The rule for names of objects and pods: a DNS subdomain, or one level of a topic."""
    if not name:
        yield required(field)
    elif dns:
        if not dns_subdomain(name):
            yield invalid(field, f"{name[:80]!r} is no DNS subdomain of at most 253 characters")
    elif (problem := segment_problem(name)) is not None:
        yield invalid(field, f"{name[:80]!r}: {problem}")


def uid(field: str, value: str) -> Iterator[Problem]:
    """The rule for uids: a lower-case UUID."""
    if not value:
        yield required(field)
    elif _UUID.fullmatch(value) is None:
        yield invalid(field, f"{value[:80]!r} is no lower-case UUID")


def participant(field: str, name: str, *, outsider: bool) -> Iterator[Problem]:
    """The rule for requesters and responders; `outsider`: reserved domains are refused."""
    if not name:
        yield required(field)
        return
    if not prefixed_key(name):
        yield invalid(field, f"{name[:80]!r} is no domain-prefixed name such as acme.io/drain")
    if outsider and reserved(name):
        yield invalid(field, f"the domain of {name[:80]!r} is reserved")
