"""The words of the field (floor 1): clock ids, what clocks are, snapshots of them, wall time."""
