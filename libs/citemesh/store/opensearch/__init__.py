"""The store on an OpenSearch cluster: for collections that one machine does not hold, behind the same contract.

Start with writer.py, which says how a write becomes visible at once; layout.py names the indexes.
"""
