"""The commands, one module for each family; main.py gives them their names.
Each reads its options, makes its calls and hands the responses to output and narration."""
