"""Messages of the contract made of one another: a candidate becomes evidence, a span of evidence a citation.
The rules that every service keeps alike; what is found, chosen or claimed is decided elsewhere."""
