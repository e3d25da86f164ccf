"""A `systemctl` without a systemd: units are files beside this program, and it moves them.

    units/NAME      what `show` prints of a unit in memory, a property a line. Besides: DEAF=yes,
                    it ignores its stop signal; DEAF=immortal, SIGKILL too; FAILS=yes, its start
                    fails; FAILS=slow, its start has no end
    run/systemd/    what systemd itself keeps there: the life of each unit that is up
    hang, garbage, refuse   while they are there: never answer, answer with this, fail with this
    slow-stop       while it is there: a stop does not reach systemd
    calls           every call, one a line

Only what `evictd` asks of the real program; it runs once for each call, as that one does.
"""

import sys
import threading
import uuid
from fnmatch import fnmatchcase
from pathlib import Path

HERE = Path(sys.argv[0]).resolve().parent
LOOK_SECONDS = 0.01
PAUSE = threading.Event()
UP = ("active", "activating", "reloading", "deactivating")


def main() -> int:
    arguments = [word for word in sys.argv[1:] if word not in ("--no-pager", "--no-ask-password")]
    with (HERE / "calls").open("a") as calls:
        calls.write(" ".join(arguments) + "\n")
    while (HERE / "hang").exists():
        PAUSE.wait(LOOK_SECONDS)
    if (HERE / "garbage").exists():
        sys.stdout.buffer.write((HERE / "garbage").read_bytes())
        return 0
    if (HERE / "refuse").exists():
        sys.stderr.write((HERE / "refuse").read_text())
        return 1
    verb, *rest = arguments
    options = [word for word in rest if word.startswith("--") and word != "--"]
    names = rest[rest.index("--") + 1 :] if "--" in rest else []
    return {"show": show, "stop": stop, "start": start, "kill": kill}[verb](options, names)


def show(options: list[str], names: list[str]) -> int:
    wanted = options[0].removeprefix("--property=").split(",")
    if wanted == ["Version"]:
        sys.stdout.write("Version=257 (257.0-fake)\n")
        return 0
    blocks = []
    for name in expanded(names):
        found = read(name) or {"Id": name, "Names": name, "LoadState": "not-found"}
        found = {"ActiveState": "inactive", "SubState": "dead", "Names": found["Id"], **found}
        blocks.append("".join(f"{word}={found[word]}\n" for word in wanted if word in found))
    sys.stdout.write("\n".join(blocks))
    return 0


def stop(options: list[str], names: list[str]) -> int:
    (name,) = names
    while (HERE / "slow-stop").exists():
        PAUSE.wait(LOOK_SECONDS)
    if read(name) is None:
        sys.stderr.write(f"Failed to stop {name}: Unit {name} not loaded.\n")
        return 5
    parts = (*members(name), name)
    slices = [part for part in parts if part.endswith(".slice")]
    for part in set(parts) - set(slices):
        if read(part).get("ActiveState") in UP:
            write(part, {**read(part), "ActiveState": "deactivating", "SubState": "stop-sigterm"})
            if "DEAF" not in read(part):
                end(part, "inactive")
    for part in parts:
        while (now := read(part)) is not None and now["ActiveState"] == "deactivating":
            PAUSE.wait(LOOK_SECONDS)
    for part in slices:  # they stay up as long as anything in them
        if read(part).get("ActiveState") in UP:
            end(part, "inactive")
    return 0


def kill(options: list[str], names: list[str]) -> int:
    slices = [name for name in names if name.endswith(".slice")]
    for part in (*names, *(part for name in slices for part in members(name))):
        now = read(part) or {}
        if now.get("ActiveState") in UP and now.get("DEAF") != "immortal":
            end(part, "failed")
    return 0


def start(options: list[str], names: list[str]) -> int:
    for name in names:
        if (unit := read(name)) is None:
            sys.stderr.write(f"Failed to start {name}: Unit {name} not found.\n")
            return 5
        if unit.get("FAILS") == "yes":
            write(name, {**unit, "ActiveState": "failed", "SubState": "failed"})
            sys.stderr.write(f"Job for {name} failed.\n")
            return 1
        write(name, {**unit, **begun(name)})
        while unit.get("FAILS") == "slow":
            PAUSE.wait(LOOK_SECONDS)
    return 0


def begun(name: str) -> dict[str, str]:
    life = uuid.uuid4().hex
    link = HERE / "run" / "systemd" / "units" / f"invocation:{name}"
    link.unlink(missing_ok=True)
    link.symlink_to(life)
    return {"ActiveState": "active", "SubState": "running", "InvocationID": life}


def end(name: str, state: str) -> None:
    (HERE / "run" / "systemd" / "units" / f"invocation:{name}").unlink(missing_ok=True)
    write(name, {**read(name), "ActiveState": state, "SubState": "dead", "InvocationID": ""})


def members(name: str) -> list[str]:
    found = []
    unit = read(name) or {}
    for part in f"{unit.get('SliceOf', '')} {unit.get('RequiredBy', '')}".split():
        found += [*members(part), part]
    return found


def expanded(names: list[str]) -> list[str]:
    loaded = sorted(path.name for path in (HERE / "units").iterdir() if path.suffix != ".new")
    found = []
    for name in names:
        pattern = any(character in name for character in "*?[")
        matching = [one for one in loaded if fnmatchcase(one, name)]
        found += matching if pattern else [alias(name)]
    return list(dict.fromkeys(found))


def alias(name: str) -> str:
    for path in (HERE / "units").iterdir():
        if path.suffix != ".new" and name in (read(path.name) or {}).get("Names", "").split():
            return path.name
    return name


def read(name: str) -> dict[str, str] | None:
    try:
        text = (HERE / "units" / name).read_text()
    except OSError:
        return None
    return dict(line.split("=", 1) for line in text.splitlines())


def write(name: str, unit: dict[str, str]) -> None:
    path = HERE / "units" / name
    new = path.with_name(f"{uuid.uuid4().hex}.new")
    new.write_text("".join(f"{word}={value}\n" for word, value in unit.items()))
    new.rename(path)


if __name__ == "__main__":
    sys.exit(main())
