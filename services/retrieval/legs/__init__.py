"""The three ways to find passages; each takes one query and returns one ranking.

A new leg is a class with `pattern` and `search`, named in service.py, and a weight in settings.py.
"""
