"""Why a file was not read, in words for the person who sent it."""

from __future__ import annotations

import enum


class RefusalReason(enum.StrEnum):
    """One value for each kind of trouble; the service maps them to its error reasons."""

    EMPTY = "empty"
    UNREADABLE = "unreadable"
    PASSWORD_NEEDED = "password_needed"  # noqa: S105 - the name of a reason, no secret
    PASSWORD_WRONG = "password_wrong"  # noqa: S105 - the name of a reason, no secret
    UNSUPPORTED = "unsupported"
    TOO_LARGE = "too_large"
    TOO_SLOW = "too_slow"
    TOO_MUCH_MEMORY = "too_much_memory"
    CRASHED = "crashed"


class ParseRefused(Exception):  # noqa: N818 - a refusal of the file, not an error of the program
    """A file that cannot be read. `message` is a full sentence that may be shown to the sender.

    `page_number` is the page that OCR was reading when the parser ended; 0 where that is not known. `limit_s` is the
    limit that a TOO_SLOW file went over, in seconds.
    """

    def __init__(self, reason: RefusalReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.page_number = 0
        self.limit_s = 0.0
