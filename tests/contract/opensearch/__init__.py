"""What only the store on a cluster must do: writers that end between two steps, several of them, failures, TLS.

The contract that it shares with the embedded store is in tests/contract/store.
"""
