"""Logs of text, a time in each line: of the kernel, perf script, strace, logcat, servers."""
