class PacketObserver:
    """Receives each packet of a trace while it is imported."""
