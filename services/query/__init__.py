"""The query service: what a question asks, whether to search for it, and in which words.

Rules decide, about a millisecond a question; understand.py puts them together and names the module of each concern.
"""
