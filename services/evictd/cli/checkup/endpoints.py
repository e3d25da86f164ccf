"""What an engine or its proxy lets us do: each endpoint with what it is for, and how it is allowed.

One variable too few at a proxy shows only when somebody has to be stopped: so each endpoint is a
line. [field case L4]
"""

from msgspec import Struct

from evictd.cli.checkup.findings import Finding, note, ok, problem
from evictd.runtimes.docker.rights import Answer


class Need(Struct, frozen=True, kw_only=True):
    """What an endpoint is for, and the variables by which the usual proxies allow it."""

    purpose: str
    variables: tuple[str, ...]
    expression: str
    when_acting: bool = False


NEEDS = {
    "GET /version": Need(
        purpose="nothing can be asked without it", variables=("VERSION=1",), expression="version"
    ),
    "GET /info": Need(
        purpose="the machine's name and the kernel's accounting come from it",
        variables=("INFO=1",),
        expression="info",
    ),
    "GET /containers/json": Need(
        purpose="no workload is seen", variables=("CONTAINERS=1",), expression="containers/json"
    ),
    "GET /containers/{id}/json": Need(
        purpose="no workload is seen",
        variables=("CONTAINERS=1",),
        expression="containers/[^/]+/json",
    ),
    "GET /containers/{id}/stats": Need(
        purpose="of containers in a virtual machine of their own it is not known what they use",
        variables=("CONTAINERS=1",),
        expression="containers/[^/]+/stats",
    ),
    "GET /images/{id}/json": Need(
        purpose="labels of an image cannot be told from those of its user",
        variables=("IMAGES=1",),
        expression="images/[^/]+/json",
    ),
    "GET /images/json": Need(
        purpose="unused images cannot be found",
        variables=("IMAGES=1",),
        expression="images/json",
        when_acting=True,
    ),
    "GET /events": Need(
        purpose="a new workload is seen at the next look only, up to 10 s later",
        variables=("EVENTS=1",),
        expression="events",
    ),
    "POST /containers/{id}/stop": Need(
        purpose="no workload can be stopped",
        variables=("POST=1", "CONTAINERS=1", "ALLOW_STOP=1"),
        expression="containers/[^/]+/stop",
        when_acting=True,
    ),
    "POST /containers/{id}/start": Need(
        purpose="what was stopped cannot be brought back",
        variables=("POST=1", "CONTAINERS=1", "ALLOW_START=1"),
        expression="containers/[^/]+/start",
        when_acting=True,
    ),
    "DELETE /images/{id}": Need(
        purpose="unused images cannot be removed",
        variables=("IMAGES=1", "POST=1"),
        expression="images/.+",
        when_acting=True,
    ),
    "DELETE /containers/{id}": Need(
        purpose="dead containers cannot be removed",
        variables=("CONTAINERS=1", "POST=1"),
        expression="containers/[^/]+",
        when_acting=True,
    ),
}
"""By endpoint. The variables are those of the proxies that most people run (tecnativa's and
linuxserver's); proxies that take expressions need `expression` for the method."""
SELDOM = {
    "GET /containers/{id}/stats": NEEDS["GET /containers/{id}/stats"].purpose,
    "GET /images/json": "what a prune of images would take cannot be told",
}
"""What few machines need, and what is missed there: a note where it is refused. Where unused images
are removed the list of them is needed."""
NEVER_TRIED = ("POST /images/prune", "POST /build/prune", "GET /system/df")
"""There is no harmless way to try the first two, and the third takes an engine seconds."""
UNTRIED = note(
    "engine prunes",
    f"not tried: {', '.join(NEVER_TRIED)}",
    means="whether space of images and build caches can be given back shows when it is done",
    remedy="at a socket proxy usually IMAGES=1, BUILD=1, SYSTEM=1, POST=1",
)
"""Who reads nothing of them believes that they work."""


def right(answer: Answer, *, acts: bool, stops: bool = True, images: bool = True) -> Finding:
    """One endpoint. "Not found" says that it is allowed; only who refuses says "forbidden".

    `images`: unused ones are removed here.
    """
    check = f"engine {answer.endpoint}"
    need = NEEDS[answer.endpoint]
    if answer.status is None:
        return problem(
            check,
            answer.why or "no answer",
            means=need.purpose,
            remedy="the engine hangs at this call, or the proxy drops it; see the logs of both",
        )
    if answer.status < 300 or answer.status in (304, 404, 409):
        return ok(check, "allowed")
    refused = answer.status in (401, 403, 405)
    if refused and need.when_acting and not stops:
        return ok(
            check, f"refused ({answer.status}), and not needed here: this worker stops nobody"
        )
    text = f"refused ({answer.status})" if refused else f"answers {answer.status}: {answer.why}"
    remedy = _allowing(answer.endpoint, need) if refused else "see the engine's log"
    if refused and (missed := _missed(answer.endpoint, images=images)) is not None:
        return note(check, text, means=missed, remedy=remedy)
    if need.when_acting and not acts:
        return note(check, text, means=f"{need.purpose}, once the mode is act", remedy=remedy)
    return problem(check, text, means=need.purpose, remedy=remedy)


def _missed(endpoint: str, *, images: bool) -> str | None:
    """By who needs it seldom; None where it is needed."""
    return None if endpoint == "GET /images/json" and images else SELDOM.get(endpoint)


def _allowing(endpoint: str, need: Need) -> str:
    method = endpoint.partition(" ")[0]
    variables = ", ".join(need.variables)
    return (
        f"at the socket proxy usually {variables}; where it takes expressions, add "
        f"{need.expression} to -allow{method}"
    )
