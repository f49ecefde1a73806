"""Cross-references of two regulations: how many the grammar finds, and how many of what it finds are right.

    python -m tests.quality references [--misses N]

Each paragraph of a regulation is read with its own number; what it refers to is compared with the published links
(regs.crossrefs.jsonl.gz, rows whose words are known to be right). What a range covers between its ends is left out on
both sides. Of the found ones those count as wrong that resolve to a paragraph to which no link is published. Some
versions have no links for plain citations ("§ 1002.13"), though these are references all the same, so precision is
given over what overlaps the words of a link as well: there somebody has looked.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.documents.mentions import Mention, find_mentions
from services.documents.references import resolve_mention
from tests.conftest import REPO

_FOLDER = REPO.parent / "shared" / "data" / "jsonl"
_NAMES = {"1002": "B", "1003": "C"}


def main(arguments: list[str]) -> int:
    """Print recall and precision of each regulation, by version and over all."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality references")
    parser.add_argument("--misses", type=int, default=0, help="show so many that were missed")
    options = parser.parse_args(arguments)
    links: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for link in _read(_FOLDER / "regs.crossrefs.jsonl.gz"):
        links[link["part"], link["version"]][link["from"]].append(link)
    nodes: dict[tuple[str, str], dict[str, dict[str, Any]]] = defaultdict(dict)
    for node in _read(_FOLDER / "regs.nodes.jsonl.gz"):
        nodes[node["part"], node["version"]][node["label"]] = node
    for part, name in _NAMES.items():
        total = Tally()
        for key in sorted(each for each in nodes if each[0] == part):
            tally = _measure(nodes[key], links[key])
            print(json.dumps({"regulation": name, "version": key[1], **tally.rates()}))
            total.add(tally)
        print(json.dumps({"regulation": name, **total.rates()}))
        print("".join(f"  {line}\n" for line in total.shown[: options.misses]), end="")
    return 0


@dataclass
class Tally:
    """Counts over the paragraphs of a regulation."""

    right: int = 0
    wanted: int = 0
    found: int = 0
    linked_right: int = 0
    linked_found: int = 0
    shown: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the counts of another version."""
        for name in ("right", "wanted", "found", "linked_right", "linked_found"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.shown += other.shown

    def rates(self) -> dict[str, float]:
        """Recall; precision over all that was found, and over what overlaps a published link."""
        return {
            "links": self.wanted,
            "recall": round(self.right / max(1, self.wanted), 3),
            "precision": round(self.right / max(1, self.found), 3),
            "precision where linked": round(self.linked_right / max(1, self.linked_found), 3),
        }


def _measure(nodes: Mapping[str, dict[str, Any]], links: Mapping[str, list[dict[str, Any]]]) -> Tally:
    """One version. A place named twice in a paragraph counts once, except where spans are compared."""
    labels = {_to_number(label): label for label in nodes}
    tally = Tally()
    for label, node in nodes.items():
        text = node["text"] or ""
        published = [link for link in links.get(label, ()) if link["surface_ok"]]
        targets = {link["to"] for link in published}
        doubtful = {link["to"] for link in links.get(label, ()) if not link["surface_ok"]} - targets
        resolved = set()
        for mention in find_mentions(text):
            target = _resolve(mention, label, labels) if mention.is_written else None
            if target is None or target in doubtful:
                continue
            resolved.add(target)
            beside = {link["to"] for link in published if link["start"] < mention.end and mention.start < link["end"]}
            if beside:
                tally.linked_found += 1
                tally.linked_right += target in beside
        resolved -= {label} - targets
        tally.right += len(resolved & targets)
        tally.wanted += len(targets)
        tally.found += len(resolved)
        tally.shown += [f"missed {label} -> {each}: {text[:300]}" for each in sorted(targets - resolved)]
    return tally


def _resolve(mention: Mention, label: str, labels: Mapping[str, str]) -> str | None:
    kind = "comment " if mention.word == "comment" else "appendix " if mention.word == "appendix" else ""

    def known(number: str) -> str:
        wanted = f"{kind}{number.lower()}"
        return number.lower() if wanted in labels else ""

    number, document = resolve_mention(mention, _own_number(label), known)
    return labels.get(f"{kind}{number.lower()}") if number and not document else None


def _own_number(label: str) -> str:
    """The number of the paragraph, or of the one that a comment is on."""
    number = _to_number(label.partition("-Interp")[0])
    return number if number[:1].isdigit() else ""


def _to_number(label: str) -> str:
    """The published label "1003-4-a-8-Interp-6-i" as it is cited: "comment 4(a)(8)-6.i"; lower case."""
    part, _, rest = label.partition("-")
    place, is_comment, comment = rest.partition("Interp")
    pieces = place.strip("-").split("-")
    marks = "".join(f"({piece})" for piece in pieces[1:]).lower()
    if is_comment:
        return f"comment {pieces[0]}{marks}-{comment.strip('-').replace('-', '.')}".lower()
    if pieces[0].isdigit():
        return f"{part}.{pieces[0]}{marks}"
    return f"appendix {pieces[0]}{marks}".lower()


def _read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]
