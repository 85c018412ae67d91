"""What the verbs measure of a trace (floor 4), each in one pass."""
