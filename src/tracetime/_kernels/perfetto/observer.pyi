class Listener:
    """What is told each packet of a trace while it is imported."""
