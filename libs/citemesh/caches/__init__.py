"""Bounded caches inside a process, for values that never change under their key.
What may be shared among callers, and how long it holds, is for whoever makes the key to see to."""
