"""Where documents are kept and found again: one contract, several implementations, one contract test for all.

Start with contract.py; `open_writer` and `open_reader` of embedded/ open the store of one machine.
"""
