"""What the verbs measure of a trace, each in one pass."""
