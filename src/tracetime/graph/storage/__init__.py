"""Clock graphs as bytes and files, and back."""
