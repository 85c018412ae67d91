"""Live clocks of this machine, all behind one small interface (`source.py`), with a fake."""
