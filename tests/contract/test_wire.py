"""The wire: examples decode or are refused as they say, generated documents are current, topics
read back."""

import json
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd_schemas import export, topics

SCHEMAS = Path(__file__).parents[2] / "schemas"
EXAMPLES = {
    path.stem: json.loads(path.read_text())
    for path in sorted((SCHEMAS / "examples").glob("*.json"))
}
TAKEN = [
    pytest.param(example, id=f"{name}: {example['about']}")
    for name, examples in EXAMPLES.items()
    for example in examples["takes"]
]
REFUSED = [
    pytest.param(example, id=f"{name}: {example['about']}")
    for name, examples in EXAMPLES.items()
    for example in examples["refuses"]
]


def payload(example: dict) -> bytes:
    """The bytes on the wire; `text` where they are no JSON."""
    return (
        example["text"].encode() if "text" in example else json.dumps(example["payload"]).encode()
    )


@pytest.mark.parametrize("example", TAKEN)
def test_an_example_decodes_and_survives_a_round_trip(example: dict) -> None:
    kind = topics.place(example["topic"]).kind
    message = msgspec.json.decode(payload(example), type=kind.message)
    assert msgspec.json.decode(msgspec.json.encode(message), type=kind.message) == message


@pytest.mark.parametrize("example", TAKEN)
def test_an_example_agrees_with_the_json_schema(example: dict) -> None:
    kind = topics.place(example["topic"]).kind
    jsonschema.validate(example["payload"], export.json_schema(kind.message))


@pytest.mark.parametrize("example", TAKEN)
def test_what_we_write_agrees_with_the_json_schema(example: dict) -> None:
    kind = topics.place(example["topic"]).kind
    message = msgspec.json.decode(payload(example), type=kind.message)
    written = json.loads(msgspec.json.encode(message))
    jsonschema.validate(written, export.json_schema(kind.message))


@pytest.mark.parametrize("example", REFUSED)
def test_a_wrong_message_is_refused_at_its_place(example: dict) -> None:
    kind = topics.place(example["topic"]).kind
    with pytest.raises(msgspec.MsgspecError) as refusal:
        msgspec.json.decode(payload(example), type=kind.message)
    _, _, path = str(refusal.value).partition(" - at `")
    assert (path.rstrip("`") or "$") == example["field"]


def test_every_message_has_examples_of_both_kinds() -> None:
    assert set(EXAMPLES) == {topic.message.__name__.lower() for topic in topics.TOPICS}
    assert all(examples["takes"] and examples["refuses"] for examples in EXAMPLES.values())


def test_the_generated_documents_are_current() -> None:
    for path, text in export.documents():
        assert (SCHEMAS / path).read_text() == text, (
            f"run: python -m evictd_schemas.export schemas ({path})"
        )


def test_every_reference_of_the_asyncapi_document_leads_somewhere() -> None:
    document = export.asyncapi()

    def references(value: object) -> list[str]:
        if isinstance(value, dict):
            own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
            return own + [one for item in value.values() for one in references(item)]
        if isinstance(value, (list, tuple)):
            return [one for item in value for one in references(item)]
        return []

    found = references(document)
    assert found
    for reference in found:
        node = document
        for step in reference.removeprefix("#/").split("/"):
            node = node[step]


levels = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="/+#$"), min_size=1, max_size=40
)


@given(st.sampled_from(topics.TOPICS), st.data())
def test_a_topic_reads_back_to_what_built_it(topic: topics.Topic, data: st.DataObject) -> None:
    names = {level[1:-1]: data.draw(levels) for level in topic.levels if level.startswith("{")}
    node = data.draw(levels)
    built = topic.at(node, **names)
    found = topics.place(built)
    assert found is not None
    assert (found.kind, found.node, dict(found.names)) == (topic, node, names)
    assert topics.matches(topic.everywhere(), built)
    assert topics.matches(topic.everywhere(node), built)


def test_a_participants_name_is_two_levels_and_reads_back() -> None:
    built = topics.REGISTRATION.at("edge-7", **topics.levels("acme.io/drain"))
    assert built == "evictd/v1/edge-7/responders/acme.io/drain"
    found = topics.place(built)
    assert found is not None
    assert found.participant == "acme.io/drain"


@pytest.mark.parametrize("level", ["", "a/b", "+", "a#", "$SYS", "a b", "a\0b", "a\nb", "x" * 254])
def test_a_name_that_mqtt_cannot_carry_is_refused(level: str) -> None:
    with pytest.raises(ValueError, match="cannot be a level"):
        topics.STOPPED.at("edge-7", namespace="shop", name=level)


@pytest.mark.parametrize(
    ("topic_filter", "topic", "taken"),
    [
        ("#", "a/b", True),
        ("a/#", "a", True),
        ("a/#", "a/b/c", True),
        ("a/+", "a/b", True),
        ("a/+", "a/b/c", False),
        ("a/+", "a", False),
        ("a/b", "a/b", True),
        ("+/b", "a/b", True),
        ("a/+/c", "a/b/d", False),
    ],
)
def test_filters_match_as_mqtt_says(topic_filter: str, topic: str, *, taken: bool) -> None:
    assert topics.matches(topic_filter, topic) is taken
