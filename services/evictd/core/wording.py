"""How workloads, crossed lines and the words of others are told, in every message alike.

[kubelet-eviction 9.3]
"""

import re

from evictd.core.signals.amounts import bytes_text, drawn_text, reading_text
from evictd.core.signals.quantities import QuantityError, parse
from evictd_schemas import Pod, PodReference, ThresholdStatus

SECRET = "(not shown)"  # noqa: S105 - what is printed instead of one
_LOGIN = re.compile(r'(?<=://)[^/?#\s"]+(?=@)')


def name_text(pod: Pod | PodReference) -> str:
    """A workload as people name it."""
    return f"{pod.namespace}/{pod.name}"


def on_one_line(text: str) -> str:
    """Other people's words as people may see them: no line breaks, nothing that steers a
    terminal."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def without_logins(text: str) -> str:
    """With the logins of URLs made unreadable: they are often passwords."""
    return _LOGIN.sub(SECRET, text)


def line_text(threshold: ThresholdStatus) -> str:
    """The line as the kubelet tells it: a quantity as configured, else its absolute amount."""
    try:
        return parse(threshold.value).text
    except QuantityError:
        return bytes_text(threshold.quantity or 0)


def below(threshold: ThresholdStatus) -> str:
    """A met threshold, as a sentence without its end."""
    if threshold.available is None:
        return f"{threshold.signal} is below {line_text(threshold)}"
    available = reading_text(threshold.signal, threshold.available)
    line = f"{kind_text(threshold)} threshold {drawn(threshold)}"
    return f"{threshold.signal} is {available}, below the {line}"


def kind_text(threshold: ThresholdStatus) -> str:
    """It is hard exactly when the grace is zero. [kubelet-eviction 3.3]"""
    return "hard" if threshold.grace_period_seconds == 0 else "soft"


def drawn(threshold: ThresholdStatus) -> str:
    """The line for people, as configured and with what it comes to."""
    if threshold.quantity is None:
        return threshold.value
    return drawn_text(threshold.signal, threshold.value, threshold.quantity)
