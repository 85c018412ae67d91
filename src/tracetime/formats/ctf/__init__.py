"""CTF 1.8 traces, as LTTng and barectf write them: directories, read by babeltrace2."""
