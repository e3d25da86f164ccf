"""What holds for every return, whatever is observed and however starts end."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.decision.household import HARD, SOFT, Household
from tests.core.decision.stage import amount, rules_of

from evictd.core.rules import Mode
from evictd_schemas import Order

LOOKS = st.lists(
    st.tuples(
        st.sampled_from(["512Mi", "1Gi", "1100Mi", "2Gi", "2200Mi", "3Gi", "8Gi"]),
        st.sampled_from([1.0, 10.0, 60.0, 301.0, 4000.0]),
        st.sampled_from(["", "Finished", "Failed", "Refused", "fell", "runs", "other"]),
    ),
    max_size=25,
)


@settings(deadline=None)
@given(LOOKS, st.integers(0, 4), st.sampled_from(list(Mode)), st.booleans())
def test_never_while_a_line_is_met_never_two_at_once_and_never_without_room(
    looks: list[tuple[str, float, str]], down: int, mode: Mode, kubelet: bool
) -> None:
    """Whatever is observed and however starts end: each order finds every line clear with room for
    what it brings back, and no order stands while another is placed or a line is met."""
    stage = Household(rules_of(HARD, SOFT, mode=mode, kubelet=kubelet))
    usages = {f"pod-{number}": number * 512 for number in range(down)}
    for name, mebibytes in usages.items():
        stage.fell(name, used=f"{mebibytes}Mi")
    standing: Order | None = None
    for life, (memory, seconds, what) in enumerate(looks, start=2):
        turn = stage.observe(memory, after=seconds)
        if "evictd/v1/edge/orders/restore" in turn.retracted:
            standing = None
        for order in turn.orders:
            assert standing is None
            assert mode is Mode.ACT
            assert order.target is not None
            used = usages[order.target.name] << 20
            assert amount(memory) - used > 1.1 * amount("2Gi")
            standing = order
        assert stage.pressure is not None
        assert standing is None or not any(line.met for line in stage.pressure.thresholds)
        if standing is not None and what in ("Finished", "Failed", "Refused"):
            assert standing.target is not None
            end = stage.status(standing, what)
            assert end.events.count("Restored") == (what == "Finished")
            standing = None
        elif what == "fell" and usages:
            stage.fell("pod-0", used="0", life=life)
        elif what == "other":
            stage.status(Order(uid="stray", kind="Restore"), "Finished")


DOINGS = st.lists(
    st.tuples(
        st.sampled_from(["512Mi", "2200Mi", "8Gi", "8Gi", "8Gi"]),
        st.sampled_from([1.0, 30.0, 61.0, 301.0]),
        st.sampled_from(
            ["", "Finished", "Failed", "Refused", "hold", "free", "restore", "forget", "anew"]
        ),
        st.integers(0, 3),
    ),
    max_size=30,
)


class People:
    """What is down, each needing the one before it, and what people do about it."""

    def __init__(self) -> None:
        self.stage = Household(rules_of(HARD))
        self.stage.observe("8Gi")
        self.down = [f"pod-{number}" for number in range(4)]
        self.forgotten: set[str] = set()
        self.held = False
        self.standing: Order | None = None
        for earlier, name in zip(["", *self.down], self.down, strict=False):
            needed = (f"shop/{earlier}",) if earlier else ()
            self.stage.fell(name, used="0", depends_on=needed)

    def look(self, memory: str, seconds: float) -> None:
        """Each order that is placed is as it has to be."""
        turn = self.stage.observe(memory, after=seconds)
        if "evictd/v1/edge/orders/restore" in turn.retracted:
            self.standing = None
        assert self.stage.pressure is not None
        for order in turn.orders:
            if order.kind == "Restore" and order.target is not None:
                assert self.standing is None
                assert not self.held
                assert all(item.status != "True" for item in self.stage.pressure.conditions)
                assert order.target.name not in self.forgotten
                assert self.down[0] == order.target.name
                self.standing = order

    def do(self, what: str, name: str) -> None:
        if what in ("Finished", "Failed", "Refused"):
            self.answer(what)
        elif what == "hold":
            self.held, self.standing = True, None
            self.stage.wish("Hold")
        elif what == "anew":
            self.standing = None
            self.stage.began_anew()
        elif what:
            self.held = False
            verbs = {"free": None, "restore": "Restore", "forget": "Forget"}
            self.stage.wish(verbs[what], f"shop/{name}")
            if what == "forget":
                self.forget(name)

    def answer(self, state: str) -> None:
        if self.standing is None or self.standing.target is None:
            return
        self.stage.status(self.standing, state)
        if state == "Finished":
            self.stage.lifted(self.standing.target.name)
            self.down.remove(self.standing.target.name)
        self.standing = None

    def forget(self, name: str) -> None:
        if name in self.down:
            self.forgotten.add(name)
        if self.standing is not None and self.standing.target is not None:
            self.standing = None if self.standing.target.name == name else self.standing


@settings(deadline=None)
@given(DOINGS)
def test_whatever_people_wish_a_start_is_one_at_a_time_calm_unheld_and_after_what_it_needs(
    doings: list[tuple[str, float, str, int]],
) -> None:
    """And what was forgotten is never started, over restarts too."""
    people = People()
    for memory, seconds, what, number in doings:
        people.look(memory, seconds)
        people.do(what, f"pod-{number}")
