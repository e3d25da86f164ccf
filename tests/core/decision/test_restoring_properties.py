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
