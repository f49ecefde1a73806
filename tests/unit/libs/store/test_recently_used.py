from __future__ import annotations

from citemesh.store.recently_used import RecentlyUsed


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
