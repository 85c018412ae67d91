"""Epochs of clocks: what each clock did, found over all that is known of all clocks at once."""
