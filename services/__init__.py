"""The seven services, one folder each. They share protos and the citemesh package, and import nothing of one another.

registry.py knows their names; README.md follows one request through them.
"""
