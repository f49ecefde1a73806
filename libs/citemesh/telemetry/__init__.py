"""What operators see of a running mesh: metrics, log lines and traces.

Names are in names.py and nowhere else; question and document text stays out of all three.
"""
