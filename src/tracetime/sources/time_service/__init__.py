"""True time by this machine's time service: its sources, best first, and the answer.

`clockbound.py` (with `vmclock.py`), `chrony.py`, `ptp4l.py` and `statement.py` read what a service
states; `service.py` keeps the best statement and turns readings of the clock into bounds of true
time.
"""
