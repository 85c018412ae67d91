"""Journals of systemd, in its Journal Export Format (`journalctl -o export`)."""
