"""Archives of traces, zip and tar: each member that is a trace can be opened as one."""
