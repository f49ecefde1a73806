"""Rerank: a cross-encoder's scores for question-passage pairs, calibrated, and the evidence that fits the context.

Start with service.py (SPEC, wiring); ranking.py and assemble.py are the two domain calls behind handler.py.
"""
