class EventObserver:
    """Receives each event and each line of systrace while a file is scanned."""
