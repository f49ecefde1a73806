"""sentence-transformers as it comes, encoding the same texts: `python sentence_transformers_encode.py FOLDER`.

FOLDER holds texts.json and `model`, a folder with the publisher's weights. Prints the seconds of three turns.
"""

import json
import sys
import time
from pathlib import Path

import torch  # type: ignore[import-not-found]  # only in the environment of the peers
from sentence_transformers import SentenceTransformer, models  # type: ignore[import-not-found]  # as above


def main(folder: Path) -> None:
    texts = json.loads((folder / "texts.json").read_text())
    transformer = models.Transformer(str(folder / "model"), max_seq_length=256)
    pooling = models.Pooling(transformer.get_word_embedding_dimension(), "mean")
    encoder = SentenceTransformer(modules=[transformer, pooling, models.Normalize()], device="cpu")
    encoder.encode(texts[:32])
    turns = []
    for _ in range(3):
        begun = time.perf_counter()
        vectors = encoder.encode(texts)
        turns.append(time.perf_counter() - begun)
    answer = {"turns_s": turns, "torch": torch.__version__, "threads": torch.get_num_threads()}
    print(json.dumps(answer | {"first": [float(value) for value in vectors[0]]}))


main(Path(sys.argv[1]))
