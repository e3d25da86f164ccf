"""Gathering the facts about a machine that `cli/checkup` judges.

It reads files, asks the engine and the broker, and changes nothing. What cannot be read is a fact
too. No judgement is here.

- `kernel`: cgroups, stalls, settings of the kernel, what kind of place this is
- `processes`: who runs here: evictd, its broker, the engine, other killers
- `disks`: the state folder, and where the engine keeps its images
- `clock`: the time, and whether somebody keeps it
- `engine`, `broker`: the two sockets
- `rules`: the configuration, and what it amounts to here
- `everything`: all of it, and the findings
"""
