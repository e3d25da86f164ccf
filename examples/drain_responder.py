"""A responder in thirty lines: save a workload's work before anybody stops it.

    python examples/drain_responder.py mqtt://127.0.0.1:1883 demo-7

It is asked for workloads with the label `drain=yes`, and for those that name `acme.io/drain`.
"""

import asyncio
import sys
from datetime import timedelta

from evictd.responder import Responder, Work, run

PARTS = 3


async def drain(work: Work) -> str:
    """Cancelled at its next `await` when its turn is over; what it returns is its last message."""
    work.progress("saving", expected_completion=timedelta(seconds=PARTS))
    for part in range(1, PARTS + 1):
        await asyncio.sleep(1)  # where a part of the work would be saved
        work.progress(f"saved {part} of {PARTS} parts of {work.pod.name}")
    return "everything is saved"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    broker, node = sys.argv[1:]
    run(Responder(name="acme.io/drain", respond=drain, selector={"drain": "yes"}), broker, node)
