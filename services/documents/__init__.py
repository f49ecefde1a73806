"""The documents service: reads files, keeps their versions and access, and writes what retrieval searches.

Parsing runs in a child process; everything else here works on what that child returned."""
