"""What the benches compare with: scripts that run in the environment of peers.txt, apart from this project's own.

Each reads a folder that the bench has written, and prints one line of JSON.
"""
