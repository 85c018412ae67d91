"""What fuzzes each format: a module of its name.

samples() -> list[bytes]            small files of the format
mutate(random, data) -> bytes       one more mutation, that knows the format; optional
write(folder, data) -> Path         optional: what `open_trace` is given, where it is no file
"""
