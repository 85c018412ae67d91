"""Mutation tests: would the tests notice if a line of the Python code were another?

`python -m mutants` (`make mutants`) changes one place at a time in a copy of the checkout and runs
the tests that come by that place. What no test notices is printed.
"""
