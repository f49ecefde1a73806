"""Facts of a file that becomes a document, the same for its sender and its receiver: its id, and what it repeats.
Pure, reading a file for its hash aside."""
