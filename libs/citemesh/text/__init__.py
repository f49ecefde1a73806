"""What is known of text itself, whatever it is about: words, stems, sentences, numbers in words, hashes.
Pure functions and lists, for every service that reads text; no model, no I/O."""
