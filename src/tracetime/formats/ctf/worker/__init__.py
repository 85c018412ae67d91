"""A program that reads CTF traces in a process of its own; it imports nothing of tracetime."""
