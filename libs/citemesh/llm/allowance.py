"""What a request's budget leaves for model calls."""

from __future__ import annotations

from citemesh.v1 import budget_pb2


def find_shortage(budget: budget_pb2.Budget) -> str:
    """Why no model may be asked, in words for a fallback reason; empty where one may."""
    if read_max_call_count(budget) == 0:
        return "no model call is left in the budget"
    if read_max_token_count(budget) == 0:
        return "no model token is left in the budget"
    return ""


def read_max_call_count(budget: budget_pb2.Budget) -> int | None:
    """Model calls left; None: as many as wanted."""
    return budget.max_model_calls if budget.HasField("max_model_calls") else None


def read_max_token_count(budget: budget_pb2.Budget) -> int | None:
    """Model tokens left; None: as many as wanted."""
    return budget.max_model_token_count if budget.HasField("max_model_token_count") else None
