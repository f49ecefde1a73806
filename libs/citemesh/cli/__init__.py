"""The `citemesh` command: one module per family of commands, beside what they share (target, output, exits, narration).
It talks to the mesh by gRPC like any other caller; only mesh.py knows that services can be hosted in this process."""
