"""Reading vector files: one case each, under the id `file::name`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDERS = (".", "kubelet", "evictionrequest")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One case of a file. `operation` is the case's own, its file's, or the `op` of what is given;
    empty where a file has one operation and does not name it."""

    file: str
    name: str
    operation: str
    given: dict[str, Any]
    expect: Any
    document: dict[str, Any]
    """The whole case, for files that keep more beside `given`."""

    @property
    def id(self) -> str:
        return f"{self.file}::{self.name}"


def cases(folder: Path) -> Iterator[Case]:
    """Every case of every file in the folder and its two known subfolders."""
    for path in sorted(file for name in FOLDERS for file in (folder / name).glob("*.json")):
        yield from _cases(path)


def _cases(path: Path) -> Iterator[Case]:
    content = json.loads(path.read_text(encoding="utf-8"))
    common = content.get("operation", "")
    for case in content["cases"]:
        given = case["given"]
        own = case.get("operation") or (common if isinstance(common, str) else "")
        if not own and isinstance(given, dict):
            own = given.get("op", "")
        yield Case(
            file=path.stem,
            name=case["name"],
            operation=own,
            given=given,
            expect=case["expect"],
            document=case,
        )
