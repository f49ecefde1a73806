"""The store of one machine: SQLite is the truth, the keyword index and the vector matrix are derived from it.

open.py opens it for writing (one process) or for reading (any number of them).
"""
