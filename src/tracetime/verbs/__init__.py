"""The verbs on one trace, one file each: convert, bake, split, serve, error tracks.
Nothing here prints, or takes apart what was typed.
"""
