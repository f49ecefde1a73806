"""What every document store must do: each test runs against both implementations.

Start with library.py; conftest.py opens the stores.
"""
