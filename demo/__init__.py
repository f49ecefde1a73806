"""The bundled demonstration: a small company handbook, a product manual, and questions about them.
`python -m demo` ingests the documents into a local mesh and narrates how each question is answered."""
