"""The contract as documents: a JSON Schema for each message and one AsyncAPI 3.0 description.

    python -m evictd_schemas.export schemas

Generated from the Structs and the table of topics, checked in, and compared by a test, so that they
cannot drift. Outsiders who do not speak Python read these.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from evictd_schemas.topics import PAYLOAD_BYTES_MAX, ROOT, TOPICS, Topic

VERSION = "1.0.0"
"""Of the contract; its first figure is the `v1` of the topics."""
ASYNCAPI = "3.0.0"
MQTT_BINDING = "0.2.0"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
REQUIRED = {
    "EvictionRequest": ("spec",),
    "EvictionRequestSpec": ("target", "requester", "intent"),
    "Target": ("pod",),
    "PodTarget": ("name", "uid"),
}
"""What has to be there although its Struct has a default: admission reports it as missing, together
with whatever else is wrong. [contract 3, EvictionRequest]"""
_FIELD = re.compile(r"`[a-z]+(?:_[a-z]+)+`")
"""A field in a docstring, which calls it by its name in Python."""


def documents() -> Iterator[tuple[str, str]]:
    """Every generated file as (path below `schemas/`, text)."""
    for topic in TOPICS:
        yield f"json/{topic.message.__name__}.schema.json", _json(json_schema(topic.message))
    yield "asyncapi.yaml", msgspec.yaml.encode(asyncapi()).decode()


def json_schema(message: type) -> dict[str, Any]:
    """The JSON Schema (2020-12) of one message, self-contained."""
    (root,), components = _schemas((message,), "#/$defs/{name}")
    return {"$schema": DIALECT, "title": message.__name__, **root, "$defs": components}


def asyncapi() -> dict[str, Any]:
    """The whole bus as an AsyncAPI 3.0 document with MQTT bindings."""
    messages = tuple(dict.fromkeys(topic.message for topic in TOPICS))
    _, schemas = _schemas(messages, "#/components/schemas/{name}")
    return {
        "asyncapi": ASYNCAPI,
        "info": {
            "title": "evictd",
            "version": VERSION,
            "description": "What may be published and subscribed to on evictd's bus.",
        },
        "defaultContentType": "application/json",
        "servers": {
            "local": {
                "host": "127.0.0.1:18830",
                "protocol": "mqtt",
                "protocolVersion": "5.0",
                "bindings": {"mqtt": {"cleanSession": True, "bindingVersion": MQTT_BINDING}},
            }
        },
        "channels": {_channel_name(topic): _channel(topic) for topic in TOPICS},
        "operations": dict(_operations()),
        "components": {
            "messages": {message.__name__: _message(message) for message in messages},
            "schemas": schemas,
        },
    }


def _schemas(
    messages: tuple[type, ...], template: str
) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    roots, components = msgspec.json.schema_components(messages, ref_template=template)
    for name in REQUIRED.keys() & components.keys():
        schema = components[name]
        schema["required"] = [*schema.get("required", ()), *REQUIRED[name]]
        for field in REQUIRED[name]:
            del schema["properties"][field]["default"]
    for schema in components.values():
        if (text := schema.get("description")) is not None:
            schema["description"] = _FIELD.sub(_on_the_wire, text)
    return roots, components


def _on_the_wire(field: re.Match[str]) -> str:
    first, *rest = field[0].split("_")
    return first + "".join(map(str.capitalize, rest))


def _channel_name(topic: Topic[Any]) -> str:
    first, *rest = (word for word in topic.path.split("/") if not word.startswith("{"))
    return first + "".join(word.capitalize() for word in rest)


def _channel(topic: Topic[Any]) -> dict[str, Any]:
    parameters = ["node", *(level[1:-1] for level in topic.levels if level.startswith("{"))]
    name = topic.message.__name__
    return {
        "address": f"{ROOT}/{{node}}/{topic.path}",
        "messages": {name: {"$ref": f"#/components/messages/{name}"}},
        "parameters": {
            parameter: {"description": _PARAMETERS[parameter]} for parameter in parameters
        },
        "description": f"Written by: {topic.writer}. Rejections are answered by: "
        f"{topic.judge or 'nobody'}.",
    }


_PARAMETERS = {
    "node": "The machine, by its name in evictd.",
    "domain": "The domain of a domain-prefixed name, the part before its slash.",
    "key": "The part of a domain-prefixed name after its slash.",
    "namespace": "The namespace of the workload or object.",
    "name": "The name of the workload or object.",
    "worker": "collector, evaluator, evictor, controller, responder, gateway, or all.",
    "reason": "The event's reason, such as Evicted.",
}


def _operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for topic in TOPICS:
        name = _channel_name(topic)
        title = name[0].upper() + name[1:]
        binding = {"qos": 1, "retain": topic.retained, "bindingVersion": MQTT_BINDING}
        for action in ("send", "receive"):
            yield (
                f"{action}{title}",
                {
                    "action": action,
                    "channel": {"$ref": f"#/channels/{name}"},
                    "bindings": {"mqtt": binding if action == "send" else _receive_binding()},
                },
            )


def _receive_binding() -> dict[str, Any]:
    return {"qos": 1, "bindingVersion": MQTT_BINDING}


def _message(message: type) -> dict[str, Any]:
    return {
        "name": message.__name__,
        "contentType": "application/json",
        "payload": {"$ref": f"#/components/schemas/{message.__name__}"},
        "description": f"One UTF-8 JSON object of at most {PAYLOAD_BYTES_MAX} bytes.",
    }


def _json(document: dict[str, Any]) -> str:
    return (
        msgspec.json.format(msgspec.json.encode(document, order="sorted"), indent=2).decode() + "\n"
    )


def main(folder: str) -> None:
    """Write every document below a folder."""
    for path, text in documents():
        target = Path(folder) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
