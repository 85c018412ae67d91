class Arguments:
    """Writes arguments, one object after the other."""
