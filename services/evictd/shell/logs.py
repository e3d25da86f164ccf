"""Logs: for people at a terminal, one JSON object a line elsewhere, with worker and node."""

import logging
import sys
from typing import TextIO

import structlog
from structlog.typing import Processor

SHARED: tuple[Processor, ...] = (
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
)


def configure(
    *, worker: str, node: str, level: int = logging.INFO, stream: TextIO | None = None
) -> None:
    """Once, at the start of a process. The libraries' own loggers come out the same way."""
    stream = stream or sys.stderr
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=SHARED,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_rendering(stream),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.getLogger("evictd.mqtt").setLevel(max(level, logging.CRITICAL))  # the link tells it
    structlog.contextvars.bind_contextvars(worker=worker, node=node)


def _rendering(stream: TextIO) -> tuple[Processor, ...]:
    if stream.isatty():
        return (structlog.dev.ConsoleRenderer(),)
    return (structlog.processors.format_exc_info, structlog.processors.JSONRenderer())
