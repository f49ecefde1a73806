"""What can be wrong with model files, said so that the reader knows what to run."""

from __future__ import annotations


class ModelError(Exception):
    """A model file is missing, damaged or of the wrong kind; the text names the file and what to do."""
