"""Live clocks of this machine behind one small interface (`sources/source.py`), with a fake."""
