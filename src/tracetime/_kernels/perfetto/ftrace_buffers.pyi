class FtraceBuffers:
    """The buffers of each machine so far."""
