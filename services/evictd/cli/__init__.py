"""The command line: one module a verb, loaded when it is asked for. [layout 3]

What verbs share: `options` and `reading` (where to look), `naming` (whom a name means), `kinds`,
`tables` and those that end in `_tables` or `_texts` (how it is told), `standing`, `situation` and
`past` (what there is to tell).

Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 failed, 2 usage, 3 configuration,
4 not found, 5 bus unreachable, 6 timed out, 9 replaced by a newer worker, 130 interrupted.
"""

import io
import sys
import traceback

from evictd.cli.verbs import evictd
from evictd.core.errors import Bug, EvictdError

__all__ = ["evictd", "main"]


def main() -> None:
    """Run the command line; an error of the family is told in its own words, without traceback.

    Only a `Bug` has one: it is reported to people who have to find the place. What the terminal's
    alphabet does not have is written as an escape.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        evictd()
    except EvictdError as error:
        if isinstance(error, Bug):
            traceback.print_exception(error.__cause__ or error)
        speaks_for_itself = hasattr(error, "problems")  # lines that begin with file:line:column
        sys.stderr.write(f"{'' if speaks_for_itself else 'evictd: '}{error}\n")
        sys.exit(error.exit_code)
