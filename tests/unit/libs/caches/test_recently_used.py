from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citemesh.caches.recently_used import RecentlyUsed


def test_the_least_recently_used_goes_first() -> None:
    kept: RecentlyUsed[str, int] = RecentlyUsed(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (1, None, 3)


def test_none_may_be_kept() -> None:
    kept: RecentlyUsed[str, int] = RecentlyUsed(0)
    kept.put("a", 1)
    assert kept.get("a") is None


def test_weights_are_counted_and_what_is_too_heavy_is_not_kept() -> None:
    kept: RecentlyUsed[str, str] = RecentlyUsed(10, weigh=len)
    kept.put("a", "12345")
    kept.put("b", "12345")
    assert kept.get("a") == "12345"
    kept.put("c", "123")
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ("12345", None, "123")
    kept.put("d", "x" * 11)
    assert (kept.get("a"), kept.get("d")) == ("12345", None), "what is too heavy pushes nothing out"


@given(st.integers(0, 20), st.lists(st.tuples(st.sampled_from("abcdef"), st.text(max_size=8))))
def test_it_never_holds_more_than_its_capacity(capacity: int, puts: list[tuple[str, str]]) -> None:
    kept: RecentlyUsed[str, str] = RecentlyUsed(capacity, weigh=len)
    for key, value in puts:
        kept.put(key, value)
        assert sum(max(1, len(found)) for each in "abcdef" if (found := kept.get(each)) is not None) <= capacity
        assert kept.get(key) == (value if max(1, len(value)) <= capacity else None)
