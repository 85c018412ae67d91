"""What a user asks for of a trace, one file each: convert, bake, split, serve, error tracks."""
