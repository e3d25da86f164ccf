"""How long a test of the lab waits, for a machine that is slower than people's.

An emulated machine needs several times as long for the same thing. What a test waits for stays the
same; only its patience is larger there.
"""

import os

PATIENCE = float(os.environ.get("LAB_PATIENCE", "1"))
"""Each deadline of the lab, times this."""
