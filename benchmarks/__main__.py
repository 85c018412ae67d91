"""`python -m benchmarks`: see speed.py."""

from benchmarks.speed import main

main()
