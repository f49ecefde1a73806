"""Calls of language models behind any OpenAI-compatible server, for services that have an LLM branch.
What a model returns is checked against a schema, counted and handed back as data; it decides nothing here."""
