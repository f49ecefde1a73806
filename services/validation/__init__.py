"""The validation service: a verdict for each claim of an answer, the release decision, and the queue of the withheld.

verdicts.py puts the checks together; each check is a module of its own and says one line about what it found.
"""
