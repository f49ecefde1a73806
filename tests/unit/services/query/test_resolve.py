"""Follow-ups made complete."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citemesh.v1.question_pb2 import Role, Turn
from services.query.ellipsis import fill_ellipsis
from services.query.options import find_options, pick_option
from services.query.resolve import resolve


def user(text: str) -> Turn:
    return Turn(role=Role.ROLE_USER, text=text)


def assistant(text: str) -> Turn:
    return Turn(role=Role.ROLE_ASSISTANT, text=text)


def test_a_question_without_history_stays_as_it_is() -> None:
    assert resolve("How does it work?", []).standalone_question == "How does it work?"


def test_a_complete_question_stays_as_it_is() -> None:
    history = [user("What is the notice period?"), assistant("Three months.")]
    question = "Who approves travel to another continent?"
    assert resolve(question, history).standalone_question == question
    assert not resolve(question, history).references


@pytest.mark.parametrize(
    ("asked", "follow_up", "expected"),
    [
        ("How long may employees stay?", "And for managers?", "How long may employees stay, for managers?"),
        ("What is the allowance for employees?", "And for managers?", "What is the allowance for managers?"),
        ("How long do the small pumps run?", "And the big ones?", "How long do the big pumps run?"),
        (
            "What is the default read timeout?",
            "What about the one for writes?",
            "What is the default timeout for writes?",
        ),
        (
            "From which length on is a code weak when MFA is on?",
            "And what if it is off?",
            "From which length on is a code weak when MFA is on, if it is off?",
        ),
        ("Wie lange gilt der Ausweis?", "Und für Gäste?", "Wie lange gilt der Ausweis, für Gäste?"),
    ],
)
def test_an_ellipsis_is_filled_from_the_question_before(asked: str, follow_up: str, expected: str) -> None:
    assert fill_ellipsis(follow_up, asked) == expected
    resolution = resolve(follow_up, [user(asked), assistant("Some answer.")])
    assert resolution.standalone_question == expected
    assert resolution.references[0].turn_index == 0


def test_a_follow_up_of_a_follow_up_reaches_back() -> None:
    history = [
        user("What is the allowance for employees?"),
        assistant("EUR 20."),
        user("And for managers?"),
        assistant("EUR 40."),
    ]
    resolution = resolve("And for directors?", history)
    assert resolution.standalone_question == "What is the allowance for directors?"


def test_small_talk_between_is_passed_over() -> None:
    history = [user("What is the allowance for employees?"), assistant("EUR 20."), user("Thanks!"), assistant("Sure.")]
    assert resolve("And for managers?", history).standalone_question == "What is the allowance for managers?"


def test_thanks_before_a_follow_up_do_not_hide_it() -> None:
    history = [user("What is the allowance for employees?"), assistant("EUR 20.")]
    follow_up = "Thanks! And for managers?"
    assert resolve(follow_up, history).standalone_question == "What is the allowance for managers?"


def test_it_stands_for_what_the_question_before_asked_about() -> None:
    history = [user("What is a learner?"), assistant("A member that has no vote.")]
    resolution = resolve("Why is it safer?", history)
    assert "learner" in resolution.standalone_question
    assert (resolution.references[0].surface, resolution.references[0].turn_index) == ("it", 0)


def test_it_stands_for_the_thing_that_the_answer_names() -> None:
    history = [user("Which computer ran the tests?"), assistant("A ThinkPad X1 with 32 GB of memory.")]
    resolution = resolve("How old is it?", history)
    assert "ThinkPad X1" in resolution.standalone_question
    assert resolution.references[0].turn_index == 1


def test_a_person_is_taken_from_the_answer_to_who() -> None:
    history = [user("Who founded the company?"), assistant("Ada Miller of Leeds, in 1984.")]
    assert "Ada Miller" in resolve("How old was she then?", history).standalone_question


def test_an_expletive_it_stands_for_nothing() -> None:
    history = [user("What is a learner?"), assistant("A member that has no vote.")]
    question = "Is it possible to encrypt backups?"
    assert resolve(question, history).standalone_question == question


@pytest.mark.parametrize(
    ("answer", "options"),
    [
        ("Either by post, or by courier.", ["post", "courier"]),
        ("1. Restart the pump\n2. Replace the filter", ["Restart the pump", "Replace the filter"]),
        ("You can use: red, green and blue.", ["You can use: red", "green", "blue"]),
        ("There is one way only, and it takes all of the time that anybody could ever have to spare.", []),
    ],
)
def test_options_of_an_answer(answer: str, options: list[str]) -> None:
    found = find_options(answer)
    assert len(found) == len(options)
    if options:
        assert found[-1] == options[-1]


def test_an_ordinal_picks_an_option() -> None:
    history = [user("How can I send the form?"), assistant("Either by post, or by courier.")]
    resolution = resolve("What does the second one cost?", history)
    assert "courier" in resolution.standalone_question
    assert resolution.references[0].surface.lower().startswith("the second")
    assert pick_option("last", ["a", "b"]) == "b"
    assert pick_option("third", ["a", "b"]) is None


def test_only_the_turn_before_is_used() -> None:
    history = [
        user("Where is the zeppelin kept?"),
        assistant("In the hangar."),
        user("What is the allowance for employees?"),
        assistant("EUR 20."),
    ]
    assert "zeppelin" not in resolve("And for managers?", history).standalone_question


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=120), st.lists(st.tuples(st.booleans(), st.text(max_size=120)), max_size=6))
def test_any_text_is_survived_and_references_point_into_the_history(
    question: str, turns: list[tuple[bool, str]]
) -> None:
    history = [user(text) if asks else assistant(text) for asks, text in turns]
    resolution = resolve(question, history)
    assert all(0 <= reference.turn_index < len(history) for reference in resolution.references)
    assert resolution == resolve(question, history)


@pytest.mark.parametrize("question", ["And what about it there?", "The second one?", "Why?", "How long is that?"])
def test_the_longest_history_makes_no_endless_question(question: str) -> None:
    asked = "Which alarms does the device raise, and how long does each of them wait? " * 270
    options = f"There are two: (1) {'a door ' * 1_400}; (2) {'an excursion ' * 700}."
    history = [
        Turn(
            role=Role.ROLE_USER if number % 2 == 0 else Role.ROLE_ASSISTANT, text=asked if number % 2 == 0 else options
        )
        for number in range(50)
    ]
    assert len(resolve(question, history).standalone_question) <= 12_000
