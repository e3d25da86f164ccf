"""How images are called, and which are built on which. It asks nobody."""

from collections.abc import Iterable

from evictd.runtimes.docker.inspection import ImageSummary


def parents(image_id: str, images: Iterable[ImageSummary]) -> Iterable[str]:
    """What an image was built on here, the nearest first."""
    above = {image.id: image.parent_id for image in images}
    while (image_id := above.pop(image_id, "")) in above:
        yield image_id


def digests_of(image: ImageSummary) -> tuple[str, ...]:
    """Names under which a registry knows it."""
    return tuple(name for name in image.repo_digests or () if not name.startswith("<none>"))


def tags_of(image: ImageSummary) -> tuple[str, ...]:
    """Names that people gave it."""
    return tuple(name for name in image.repo_tags or () if not name.startswith("<none>"))


def names_of(image: ImageSummary) -> tuple[str, ...]:
    """All of them, the most readable first, its id last."""
    return tags_of(image) + digests_of(image) + (image.id,)


def references_of(image: ImageSummary) -> tuple[str, ...]:
    """What is deleted: digests go with the last tag."""
    return tags_of(image) or digests_of(image)


def repository_of(name: str) -> str:
    """`registry:5000/app:1` and `app@sha256:...` without what comes after the name."""
    plain = name.partition("@")[0]
    head, slash, last = plain.rpartition("/")
    return head + slash + last.partition(":")[0]
