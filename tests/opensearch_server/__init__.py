"""A real OpenSearch for tests: installed once from Maven packages, one server for a whole test run, on 127.0.0.1.

`install` says what is missing; `server` starts and stops it.
"""
