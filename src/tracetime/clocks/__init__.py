"""Clock ids, properties of clocks, snapshots of readings, wall time."""
