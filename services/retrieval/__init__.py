"""Retrieval: finds passages by words, meaning and table of contents, follows references, gathers listings.

Start with service.py (SPEC, wiring); search.py is the domain call behind Retrieve.
"""
