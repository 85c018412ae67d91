"""The verb `merge`: many files on one timeline, and how far off each of them can be."""
