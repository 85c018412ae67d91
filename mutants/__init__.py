"""Mutation tests: do the tests notice a changed line of Python?

`python -m mutants` (`make mutants`) changes one place at a time in a copy of the checkout, runs the
tests that cover it, and prints the changes that no test notices.
"""
