"""Writes provisional answers from evidence, extractively or by a language model, every claim with its citation.
It reports honestly what the evidence lacks; it releases nothing: that is validation's."""
