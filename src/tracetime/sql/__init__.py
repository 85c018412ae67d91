"""Questions to traces in SQL: tables that are read as they are scanned, and clock functions."""
