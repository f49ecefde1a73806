"""Where documents are kept and found again: one contract, two implementations, the same tests for both.

Start with contract.py; open.py opens the store that the environment names. What stands here serves both; embedded/ and
opensearch/ hold what only one needs, and neither imports the other.
"""
