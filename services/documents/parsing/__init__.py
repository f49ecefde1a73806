"""Reading a file into blocks: one room per format, and the child process they run in.

Nothing here imports gRPC, models or the store, so that a child starts in milliseconds."""
