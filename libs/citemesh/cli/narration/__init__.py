"""How a request is told to people: what was understood, what ran and why, what was found, and what came of it.
Each module turns messages into things that rich can print; nothing here calls a service or prints by itself."""
