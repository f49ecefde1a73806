"""References of a text: resolved against its own document, or to another one by its name."""

from __future__ import annotations

from services.documents.references import complete_number, find_references, nearest_section


def test_paragraphs_are_completed_by_their_section() -> None:
    known = {"9.2", "9.2(c)", "9.2(c)(1)", "9.2(c)(1)(i)", "5(b)"}

    def labels(text: str) -> list[str]:
        found = find_references(
            text, section_number="9.2(c)(1)", known_section=lambda number: number if number in known else ""
        )
        return [reference.label for reference in found]

    assert labels("under paragraph (i)") == ["section 9.2(c)(1)(i)"]
    assert labels("under paragraph (c) of this section") == ["section 9.2(c)"]
    assert labels("under paragraphs (b) and (z) of § 5") == ["section 5(b)"]


def test_a_place_in_another_document_names_it() -> None:
    (found,) = find_references("see section 3 of the Travel Policy", known_section=lambda _: "")
    assert (found.label, found.document_id) == ("section 3", "Travel Policy")
    for text in ("section 3.1 of RFC 2616", "RFC 2616, Section 3.1", "see RFC 2616 section 3.1"):
        (found,) = find_references(text, known_section=str)
        assert (found.label, found.document_id) == ("section 3.1", "RFC 2616")
    (found,) = find_references("Article 4(1) of Directive 2014/65/EU", known_section=str)
    assert (found.label, found.document_id) == ("section 4(1)", "Directive 2014/65/EU")
    assert [each.document_id for each in find_references("Section 3.1 of RFC 2616", title="RFC 2616: HTTP")] == [""]
    assert not find_references("Section 3 of the Penn Treebank")
    assert not find_references("Appendix C to Regulation B")
    assert [found.label for found in find_references("Appendix C to this part")] == ["appendix c"]


def test_places_of_the_documents_own_name_are_its_own() -> None:
    (found,) = find_references("§ 7.2 of Pump Rules", known_section=str, title="Pump Rules, second edition")
    assert (found.label, found.document_id) == ("section 7.2", "")
    assert not find_references("§ 7.2 of Valve Rules", known_section=str, title="Pump Rules, second edition")
    assert not find_references("appendix B to 12 CFR part 3")


def test_paragraphs_by_a_bare_number_are_those_beside_the_text_or_none() -> None:
    numbers = {each: each for each in ("3.1", "3.2", "appendix a(i)(c)(6)", "12.4(a)(9)")}

    def labels(text: str, section_number: str) -> list[str]:
        found = find_references(
            text, section_number=section_number, known_section=lambda wanted: nearest_section(wanted, numbers)
        )
        return [reference.label for reference in found]

    assert labels("notwithstanding paragraphs 1 through 4", "3.2") == ["section 3.1", "section 3.2"]
    assert labels("notwithstanding paragraph 6", "appendix a(i)(c)(7)") == ["section appendix a(i)(c)(6)"]
    assert labels("see Appendix A, paragraph I.C.6", "12.4") == ["appendix a", "section appendix a(i)(c)(6)"]
    assert labels("under paragraph 4(a)(9)", "12.2(b)") == ["section 12.4(a)(9)"]
    assert labels("paragraph 7", "3.2") == labels("paragraph 2", "") == []


def test_what_a_number_may_mean() -> None:
    assert complete_number("9.iv", "B(1)(9)(iii)")[:2] == ["B(1)(9)(9)(iv)", "B(1)(9)(iv)"]
    assert complete_number("4(a)", "1002.9") == ["4(a)", "1002.4(a)"]
