"""Native loops: see the house in CONTRIBUTING.md."""
