"""`reclaim:`: what is switched on, what cannot be meant, and what hardly is."""

import pytest

from evictd.runtimes.reclaims import (
    DeadContainers,
    Kept,
    LongLogs,
    Reclaims,
    UnusedImages,
    reclaims_of,
)
from evictd.shell.configuration import ConfigurationError, load_text, rules_of

WEEK_SECONDS = 7 * 24 * 3600.0


def reclaims(text: str) -> Reclaims:
    return reclaims_of(load_text(text, "f").configuration)


def warnings(text: str) -> list[str]:
    return [str(warning) for warning in load_text(text, "f").warnings]


def test_nothing_is_switched_on_by_itself() -> None:
    assert reclaims("") == Reclaims()
    assert reclaims("reclaim: {unusedImages: {keep: [a]}}") == Reclaims()


def test_what_is_switched_on_waits_a_week_unless_told_otherwise() -> None:
    text = "reclaim: {unusedImages: {enabled: true}, deadContainers: {enabled: true},"
    assert reclaims(text + " truncateLogs: {enabled: true}}") == Reclaims(
        unused_images=UnusedImages(unused_seconds=WEEK_SECONDS, minimum_age_seconds=WEEK_SECONDS),
        dead_containers=DeadContainers(exited_seconds=WEEK_SECONDS),
        long_logs=LongLogs(above_bytes=100 << 20),
    )
    given = reclaims(
        "reclaim: {unusedImages: {enabled: true, unusedFor: 48h, minimumAge: 1h, keep: ['db:*']}}"
    )
    assert given.unused_images == UnusedImages(
        unused_seconds=48 * 3600, minimum_age_seconds=3600, kept=Kept(patterns=("db:*",))
    )


def test_the_steps_of_a_plain_host_have_one_order_however_they_are_written() -> None:
    """What can be had again, then what nobody has missed, then what is lost."""
    text = "reclaim: {truncateLogs: {enabled: true}, unusedImages: {enabled: true}}"
    steps = rules_of(load_text(text, "f").configuration, "edge").reclaim_steps
    assert steps == ("danglingImages", "buildCache", "unusedImages", "truncateLogs")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "reclaim: {unusedImages: {unusedFor: 7d}}",
            (
                "f:1:37: reclaim.unusedImages.unusedFor: '7d' is no duration; days are written in"
                " hours, such as 168h"
            ),
        ),
        (
            "reclaim: {deadContainers: {exitedFor: -1h}}",
            "f:1:39: reclaim.deadContainers.exitedFor: must not be negative",
        ),
        (
            "reclaim: {truncateLogs: {above: 100MB}}",
            "f:1:33: reclaim.truncateLogs.above: '100MB' is no quantity; did you mean 100M?",
        ),
        (
            "reclaim: {truncateLogs: {above: -1}}",
            "f:1:33: reclaim.truncateLogs.above: must not be negative",
        ),
        (
            "reclaim: {images: {}}",
            "f:1:11: reclaim.images: is no key here; did you mean unusedImages?",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_text(text, "f")
    assert str(refused.value).splitlines()[-1] == problem


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            "reclaim: {unusedImages: {unusedFor: 48h}}",
            (
                "f:1:11: reclaim.unusedImages: is not enabled and does nothing; enabled: true"
                " switches it on"
            ),
        ),
        (
            "reclaim: {unusedImages: {enabled: true, unusedFor: 1h}}",
            (
                "f:1:52: reclaim.unusedImages.unusedFor: 1h is less than a day: what runs"
                " once a night would not be found again"
            ),
        ),
        (
            "reclaim: {truncateLogs: {enabled: true, above: 10k}}",
            "f:1:48: reclaim.truncateLogs.above: 10k empties logs that fill no disk",
        ),
        (
            "profile: kubelet\nreclaim: {truncateLogs: {enabled: true}}",
            "f:2:1: reclaim: does nothing in profile kubelet, which has steps of its own",
        ),
    ],
)
def test_what_is_hardly_meant_is_told(text: str, warning: str) -> None:
    assert warnings(text) == [warning]


def test_a_sensible_section_is_no_reason_to_say_anything() -> None:
    text = "reclaim: {unusedImages: {enabled: true, unusedFor: 336h}, deadContainers: {}}"
    assert warnings(text) == []
