"""Topics of workloads as templates: what can be one, and that no name leads anywhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evictd.core.exchange import LEVELS_MAX, filled, filter_of, may_meet, template_problem
from evictd_schemas.topics import is_outside, matches, segment_problem

TEMPLATES = ("plant/{namespace}/{name}/evict", "x/{node}/at-{name}", "plant/press")


@pytest.mark.parametrize("text", [*TEMPLATES, "evictd2/{name}", "a/$b"])
def test_what_can_be_a_template(text: str) -> None:
    assert template_problem(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty level"),
        ("/plant", "empty level"),
        ("plant//x", "empty level"),
        ("plant/", "empty level"),
        ("plant/+/x", "holds + or #"),
        ("plant/#", "holds + or #"),
        ("$SYS/x", "begins with $"),
        ("evictd/v1/{node}/x", "evictd's own; take one outside evictd/"),
        ("evictd", "evictd's own"),
        ("plant/{pod}", "knows no {pod}; what can be filled in is {namespace}, {name}, {node}"),
        ("plant/{name!r}", "knows no {name}"),
        ("plant/{name:>5}", "knows no {name}"),
        ("plant/{name.x}", "knows no {name.x}"),
        ("plant/{}", "knows no {}"),
        ("plant/{name", "a brace that belongs to none of"),
        ("plant/name}", "a brace that belongs to none of"),
        ("plant/{{name}}", "a brace that belongs to none of"),
        ("plant/{namespace}-{name}", "two are filled into one level, where names could meet"),
        ("plant/{name}{name}", "put a / between them"),
        ("{namespace}/x", "its first level is filled in"),
        ("plant/a b", "a blank or a control character"),
        ("plant/a\ntopic readwrite #", "holds + or #"),
        ("plant/a\nuser root", "a blank or a control character"),
        ("x/" + "y" * 1000, "longer than 1000 bytes"),
        ("/".join("x" * (LEVELS_MAX + 1)), "more than 50 levels"),
    ],
)
def test_what_cannot_be_one_is_told_with_its_remedy(text: str, expected: str) -> None:
    assert expected in (template_problem(text) or "")


@given(st.sampled_from(TEMPLATES), st.text(), st.text(), st.text())
def test_no_name_adds_a_level_or_a_wildcard_or_leads_below_evictd(
    template: str, namespace: str, name: str, node: str
) -> None:
    values = {"namespace": namespace, "name": name, "node": node}
    if any(segment_problem(value) for value in values.values()):
        with pytest.raises(ValueError, match="cannot be in a level of a topic"):
            filled(template, values)
        return
    topic = filled(template, values)
    assert topic.count("/") == template.count("/")
    assert not set(topic) & set("+#")
    assert is_outside(topic)
    assert matches(filter_of(template), topic)


@pytest.mark.parametrize("name", ["a/b", "+", "#", "$x", "", "a\nb", "a b", "x" * 254])
def test_a_name_that_is_no_level_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be in a level of a topic"):
        filled("plant/{name}", {"name": name})


def test_braces_of_a_name_stay_as_they_are() -> None:
    values = {"namespace": "{node}", "name": "web", "node": "edge-7"}
    assert filled("plant/{namespace}", values) == "plant/{node}"


@pytest.mark.parametrize("topic", ["evictd/v1/x", "evictd/v2/x", "evictd", "$SYS/x"])
def test_what_is_evictds_or_the_brokers_is_not_outside(topic: str) -> None:
    assert not is_outside(topic)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("plant/{name}/evict", "plant/{node}/evict", True),
        ("plant/{name}/{node}", "plant/{name}/evict", True),
        ("plant/press", "plant/at-{name}", True),
        ("plant/{name}/evict", "plant/{name}/evict/answer", False),
        ("plant/{name}/said", "plant/{name}/evict", False),
        ("x/{name}", "y/{name}", False),
    ],
)
def test_two_templates_meet_where_their_filters_take_one_topic(
    one: str, other: str, *, expected: bool
) -> None:
    assert may_meet(one, other) is expected
    assert may_meet(other, one) is expected
