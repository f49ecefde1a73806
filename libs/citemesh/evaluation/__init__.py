"""The yardstick: reads question sets, asks a mesh, and judges what comes back.

It sees only what callers see (AnswerResponse), so it measures any mesh that speaks the contract.
"""
