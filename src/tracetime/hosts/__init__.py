"""Exchanges of readings with other machines: the messages, who answers, and who asks."""
