"""Configuration: a YAML file, environment and flags, checked whole, compiled to `Rules`.

It knows how people write things down and where they went wrong; it acts on no setting. [layout 4]
"""

from evictd.shell.configuration.compile import (
    is_owned,
    owned_port,
    rules_for,
    rules_of,
    served_patterns,
    serves,
)
from evictd.shell.configuration.defaults import OWNED, SYSTEM_STATE, state_folder
from evictd.shell.configuration.lines import bytes_of, seconds_of
from evictd.shell.configuration.loader import Loaded, load, load_text, load_tree
from evictd.shell.configuration.problems import ConfigurationError, KeyPath, Place, Problem
from evictd.shell.configuration.reality import Line, cautions_here, lines_here
from evictd.shell.configuration.showing import Row, rows

__all__ = [
    "OWNED",
    "SYSTEM_STATE",
    "ConfigurationError",
    "Line",
    "Loaded",
    "KeyPath",
    "Place",
    "Problem",
    "Row",
    "bytes_of",
    "cautions_here",
    "is_owned",
    "lines_here",
    "load",
    "load_text",
    "load_tree",
    "owned_port",
    "rows",
    "rules_for",
    "rules_of",
    "seconds_of",
    "served_patterns",
    "serves",
    "state_folder",
]
