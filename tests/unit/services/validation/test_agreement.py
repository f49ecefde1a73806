"""Claims against the words they cite."""

from __future__ import annotations

import pytest

from citemesh.v1.answer_pb2 import Verdict
from services.validation.agreement import find_disagreement
from services.validation.labels import Place

TABLE = """Variations on the base model
(A) heads 1 512 512 5.29 24.9
(B) key size 16 5.16 25.1
(C) depth of the layers 2 6.11 23.7
(D) dropout and label smoothing rate 0.0 5.77 24.6
(E) positional embedding instead of sinusoids 4.92 25.7"""


def verdict(claim: str, quote: str, *, text: str = "", about: str = "", dates: str = "") -> str:
    found = find_disagreement(claim, quote, Place(text or quote, about), dates)
    return "" if found is None else Verdict.Name(found.verdict).removeprefix("VERDICT_")


@pytest.mark.parametrize(
    ("claim", "quote", "expected"),
    [
        ("Vouchers are due within thirty days.", "Hand in the voucher within 30 days.", ""),
        ("Vouchers are due within 30 days.", "Hand in the voucher within 14 days.", "CONTRADICTED"),
        ("Vouchers are due within 30 days.", "Hand in the voucher soon.", "UNSUPPORTED"),
        ("The allowance is EUR 64.", "The allowance is USD 64.", "CONTRADICTED"),
        ("The allowance is EUR 64 a day.", "The daily allowance is EUR 64.", ""),
        ("The allowance is EUR 64 a day.", "Country | Allowance\nFrance | 64 EUR per day", ""),
        ("The allowance is EUR 64 a day.", "The allowance is EUR 64 a week.", "CONTRADICTED"),
        ("Trips over EUR 500 need approval.", "Approval is needed for trips over 500 euros.", ""),
        ("It holds from 1 January 2026.", "In force from 2026-01-01.", ""),
        ("It holds from 1 January 2026.", "In force from 1 January 2025.", "CONTRADICTED"),
        ("Employees may carry over leave.", "Employees may not carry over leave.", "CONTRADICTED"),
        ("Employees may not carry over leave.", "Employees cannot carry over leave.", ""),
        ("Smoking is allowed in the yard.", "Smoking in the yard is prohibited.", "CONTRADICTED"),
        ("Smoking is not allowed in the yard.", "Smoking in the yard is prohibited.", ""),
        ("Reports are due before the audit.", "Reports are due after the audit.", "CONTRADICTED"),
        ("Keys have at least 2048 bits.", "Keys have at most 2048 bits.", "CONTRADICTED"),
        ("All members may vote.", "Most members vote.", ""),
        ("All members vote.", "Most members vote.", "UNSUPPORTED"),
        ("Fees rise by no more than 5%.", "Fees rise by no more than 5 percent.", ""),
        ("Section 4 names one step in Table 2.", "As Section 4 says, Table 2 holds the step.", ""),
    ],
)
def test_agreement(claim: str, quote: str, expected: str) -> None:
    assert verdict(claim, quote) == expected


def test_a_number_may_stand_in_the_caption_and_a_date_in_the_metadata() -> None:
    assert verdict("The pump makes 4 bar.", "Pump | 4", about="Pressure in bar") == ""
    assert verdict("Since 1 January 2026 the allowance is 64.", "The allowance is 64.", dates="2026-01-01") == ""


@pytest.mark.parametrize("label", ["Table 3", "Section 5.4", "Figure 2", "Appendix B", "§ 12"])
def test_a_place_that_is_credited_must_be_the_cited_one(label: str) -> None:
    claim = f"Dropout is varied in {label}."
    assert verdict(claim, "Dropout is varied.", about="Table 7\nsection 9") == "UNSUPPORTED"
    assert verdict(claim, f"In {label}, dropout is varied.") == ""
    assert verdict(claim, "Dropout is varied.", about=label.lower().replace("§", "section")) == ""


def test_a_section_is_borne_by_its_number_in_a_heading() -> None:
    assert verdict("Section 5.4 names dropout.", "We use dropout.", about="5.4 Regularization") == ""
    assert verdict("Section 5 names dropout.", "We use dropout.", about="5.4 Regularization") == ""
    assert verdict("Section 4 names dropout.", "We use dropout.", about="5.4 Regularization") == "UNSUPPORTED"


def test_a_labelled_row_must_speak_of_what_the_claim_says_of_it() -> None:
    row_e = TABLE.splitlines()[-1]
    assert verdict("Label smoothing is varied in row (E) of Table 3.", row_e, about="table 3") == "UNSUPPORTED"
    assert verdict("Label smoothing is varied in row (E).", TABLE) == "UNSUPPORTED"
    assert verdict("Label smoothing is varied in row (D).", TABLE) == ""
    assert verdict("Row (E) replaces the sinusoids by a positional embedding.", row_e) == ""
    assert verdict("Label smoothing is varied in row (F).", TABLE) == "UNSUPPORTED"


def test_a_row_of_figures_alone_is_about_its_caption() -> None:
    about = "Table 3: dropout and label smoothing"
    assert verdict("Row (D) varies label smoothing.", "(D) 0.0 5.77 24.6", about=about) == ""


@pytest.mark.parametrize(
    "claim",
    [
        "The table a user sees holds pumps.",
        "The rows a user sees hold pumps.",
        "Item a pump needs: oil.",
        "On line 12 of the file the pump is named.",
    ],
)
def test_an_article_is_no_label(claim: str) -> None:
    assert "credits" not in str(find_disagreement(claim, "The pump is seen by users.", Place("", "")))
    assert "row" not in str(find_disagreement(claim, "The pump is seen by users.", Place("", ""))).lower()


def test_a_row_ends_where_other_evidence_begins() -> None:
    row_e = TABLE.splitlines()[-1]
    both = f"{row_e}\n\nLabel smoothing of 0.1 improves the score."
    assert verdict("Label smoothing is varied in row (E).", both) == "UNSUPPORTED"


def test_a_row_may_be_credited_by_the_cited_words_themselves() -> None:
    quote = "Learned embeddings give nearly identical results (see Table 3 row (E))."
    assert verdict("Learned embeddings do as well, see row (E).", quote) == ""
