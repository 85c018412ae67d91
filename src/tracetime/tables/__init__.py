"""Tables of other programs: opened, converted to another clock, written."""
