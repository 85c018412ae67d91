"""XDF: recordings of the lab streaming layer: samples by the clocks of many hosts."""
