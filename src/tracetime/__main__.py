"""`python -m tracetime`: the same as the command `tracetime`."""

from tracetime.commands import main

main()
