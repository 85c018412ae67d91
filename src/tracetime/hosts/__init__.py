"""Exchanges of readings with other machines: the messages, those who answer, and those who ask."""
