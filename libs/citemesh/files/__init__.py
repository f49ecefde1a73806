"""Facts of a file that becomes a document, the same for its sender and its receiver: its id, and what it repeats.
Pure, telling files from pipes and devices aside."""
