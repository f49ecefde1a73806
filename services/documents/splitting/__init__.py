"""From sections and blocks to passages: whole sentences, lists and tables within the encoder's length.

spans.py cuts text without losing where its lines stand; pieces.py cuts one block; passages.py fills passages."""
