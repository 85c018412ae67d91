"""Native loops (floor 0): see house rules in CONTRIBUTING.md."""
