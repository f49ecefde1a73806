"""The cache of citemesh.caches, under the name that the stores import it by."""

from citemesh.caches.recently_used import RecentlyUsed

__all__ = ["RecentlyUsed"]
