"""Cross-references of two regulations: how many the grammar finds, and how many of what it finds are right.

    python -m tests.quality references [--misses N] [--extras N]

Each paragraph of a regulation is read with its own number; what it refers to is compared with the published links
(regs.crossrefs.jsonl.gz, rows whose words are known to be right). What a range covers between its ends is left out on
both sides. A place named twice in a paragraph counts once.

The links were made by hand or by a program, version by version, and not alike: four of five versions of Regulation B
have none for plain citations ("§ 1002.13"), which the fifth has. So there are two figures. Strict: the links of the
version itself. Completed: a link that is published in any version of the regulation counts in all others in which its
words stand in the same paragraph, and a link of a whole citation ("1002.13(b)") in all paragraphs that hold the same
citation, if its target exists there. What completes is the published links alone, never what the grammar found, and
recall is measured against the completed links too.

"Form C-1" is right where the publisher puts it, at the label 1002-C-1.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from citemesh.text.mentions import Mention, find_mentions
from services.documents.references import nearest_section, resolve_mention
from tests.conftest import REPO

_FOLDER = REPO.parent / "shared" / "data" / "jsonl"
_NAMES = {"1002": "B", "1003": "C"}
_WHOLE_CITATION = re.compile(
    r"\d{4}\.\d+(?:\(\w+\))*|\d+(?:\(\w+\))+(?:\([ivx]+\))?-\d+(?:\.[ivx]+)?|[Aa]ppendix [A-Z]\b(?! (?:to|of) (?!this))"
)
_OUTLINE_TITLE = re.compile(r"([IVX]+|[A-Z])\.\s")

Version = tuple[str, str]
Nodes = Mapping[str, dict[str, Any]]


def main(arguments: list[str]) -> int:
    """Print recall and precision of each regulation, by version and over all."""
    parser = argparse.ArgumentParser(prog="python -m tests.quality references")
    parser.add_argument("--misses", type=int, default=0, help="show so many that were missed")
    parser.add_argument("--extras", type=int, default=0, help="show so many that were found where no link is")
    options = parser.parse_args(arguments)
    links: dict[Version, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for link in _read(_FOLDER / "regs.crossrefs.jsonl.gz"):
        links[link["part"], link["version"]][link["from"]].append(link)
    nodes: dict[Version, dict[str, dict[str, Any]]] = defaultdict(dict)
    for node in _read(_FOLDER / "regs.nodes.jsonl.gz"):
        nodes[node["part"], node["version"]][node["label"]] = node
    for part, name in _NAMES.items():
        keys = sorted(each for each in nodes if each[0] == part)
        published = Published.gather([link for key in keys for each in links[key].values() for link in each])
        total = Tally()
        for key in keys:
            tally = _measure(nodes[key], links[key], published, f"Regulation {name}")
            print(json.dumps({"regulation": name, "version": key[1], **tally.rates()}))
            total.add(tally)
        print(json.dumps({"regulation": name, **total.rates()}))
        shown = [*total.missed[: options.misses], *total.extra[: options.extras]]
        print("".join(f"  {line}\n" for line in shown), end="")
    return 0


@dataclass
class Tally:
    """Counts over the paragraphs of a regulation."""

    right: int = 0
    wanted: int = 0
    found: int = 0
    completed_right: int = 0
    completed_wanted: int = 0
    missed: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add the counts of another version."""
        for name in ("right", "wanted", "found", "completed_right", "completed_wanted"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.missed += other.missed
        self.extra += other.extra

    def rates(self) -> dict[str, float]:
        """Recall and precision against the links of the version, and against the completed ones."""
        return {
            "links": self.wanted,
            "recall": _share(self.right, self.wanted),
            "precision": _share(self.right, self.found),
            "completed links": self.completed_wanted,
            "recall (completed)": _share(self.completed_right, self.completed_wanted),
            "precision (completed)": _share(self.completed_right, self.found),
        }


@dataclass(frozen=True)
class Published:
    """The links of all versions of a regulation."""

    by_place: Mapping[str, set[tuple[str, str]]]
    """Label of the paragraph -> words of a link and its target."""
    by_citation: Mapping[str, set[str]]
    """Words of a whole citation -> its targets."""

    @classmethod
    def gather(cls, links: list[dict[str, Any]]) -> Published:
        """From the links whose words are right."""
        by_place: dict[str, set[tuple[str, str]]] = defaultdict(set)
        by_citation: dict[str, set[str]] = defaultdict(set)
        for link in links:
            if link["surface_ok"]:
                by_place[link["from"]].add((link["surface"], link["to"]))
                if _WHOLE_CITATION.fullmatch(link["surface"]):
                    by_citation[link["surface"]].add(link["to"])
        return cls(by_place, by_citation)

    def complete(self, label: str, text: str, targets: set[str], nodes: Nodes) -> set[str]:
        """The targets of a paragraph, with those that other versions or paragraphs link by the same words."""
        more = {to for surface, to in self.by_place.get(label, ()) if _stands_in(surface, text)}
        for match in _WHOLE_CITATION.finditer(text):
            more |= self.by_citation.get(match.group(), set())
        return targets | {each for each in more if each in nodes}


def _stands_in(surface: str, text: str) -> bool:
    """Whether a citation stands in a text, and not as the beginning of a longer one."""
    return re.search(rf"(?<![\w.]){re.escape(surface)}(?![\w(]|[.-]\d)", text) is not None


def _measure(nodes: Nodes, links: Mapping[str, list[dict[str, Any]]], published: Published, title: str) -> Tally:
    numbers = {label: _to_number(label, nodes) for label in nodes}
    labels = {number: label for label, number in reversed(numbers.items())}
    known = {number: number for number in labels}
    tally = Tally()
    for label, node in nodes.items():
        text = node["text"] or ""
        own = [link for link in links.get(label, ()) if link["surface_ok"]]
        targets = {link["to"] for link in own}
        # Links whose words are known to be wrong are neither right nor wrong.
        doubtful = {link["to"] for link in links.get(label, ()) if not link["surface_ok"]} - targets
        completed = published.complete(label, text, targets, nodes) - doubtful
        own_number = numbers.get(label.partition("-Interp")[0], "")
        resolved = {
            target
            for mention in find_mentions(text)
            if mention.is_written and (target := _resolve(mention, own_number, labels, known, title))
        } - doubtful
        resolved -= {label} - completed
        tally.right += len(resolved & targets)
        tally.wanted += len(targets)
        tally.found += len(resolved)
        tally.completed_right += len(resolved & completed)
        tally.completed_wanted += len(completed)
        tally.missed += [f"missed {label} -> {each}: {text[:300]}" for each in sorted(completed - resolved)]
        tally.extra += [f"extra {label} -> {each}: {text[:300]}" for each in sorted(resolved - completed)]
    return tally


def _resolve(
    mention: Mention, own_number: str, labels: Mapping[str, str], known: Mapping[str, str], title: str
) -> str | None:
    kind = f"{mention.word} " if mention.word in ("comment", "appendix") else ""
    number, document = resolve_mention(mention, own_number, lambda wanted: nearest_section(wanted, known), title)
    if mention.word == "form":
        kind, number = "appendix ", number.replace("-", "(") + ")"
    return labels.get(f"{kind}{number.lower()}") if number and not document else None


def _to_number(label: str, nodes: Nodes) -> str:
    """The published label "1003-4-a-8-Interp-6-i" as it is cited: "comment 4(a)(8)-6.i"; lower case.

    In appendices, "1003-A-h2-h5-p26-6" below the titles "I. …" and "C. …" is "appendix a(i)(c)(6)".
    """
    part, _, rest = label.partition("-")
    place, is_comment, comment = rest.partition("Interp")
    pieces = place.strip("-").split("-")
    if is_comment:
        return f"comment {pieces[0]}{_marks(pieces[1:])}-{comment.strip('-').replace('-', '.')}".lower()
    if pieces[0].isdigit():
        return f"{part}.{pieces[0]}{_marks(pieces[1:])}".lower()
    named = []
    for depth, piece in enumerate(pieces[1:], 2):
        title = (nodes.get("-".join((part, *pieces[:depth])), {}).get("title") or "") if piece[1:].isdigit() else ""
        heading = _OUTLINE_TITLE.match(title)
        named.append(heading.group(1) if heading else piece)
    return f"appendix {pieces[0]}{_marks([each for each in named if not re.fullmatch(r'p[0-9]+', each)])}".lower()


def _marks(pieces: list[str]) -> str:
    return "".join(f"({piece})" for piece in pieces)


def _share(part: int, whole: int) -> float:
    return round(part / max(1, whole), 3)


def _read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]
