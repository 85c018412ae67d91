"""The loops that must be native, in modules named after the rooms that use them."""
