"""The dispatcher: decides in code which retrieval patterns run, when to loop and when to cease, and answers the caller.

Read resolve.py, triggers.py, stop.py and outcome.py first: they hold the decisions, as tables of named rules."""
