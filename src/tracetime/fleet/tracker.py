"""The process by which multiprocessing removes semaphores of processes that were killed."""

from __future__ import annotations

import sys
from multiprocessing import resource_tracker
from typing import Final

_UNHEARD: Final = "ignore:resource_tracker:UserWarning"


def start_quiet_tracker() -> None:
    """Start it so that it removes them without a warning, unless it runs already.

    It warns on stderr of each run that was killed, after that has ended: there is nothing to do.
    """
    # It gets the options of this interpreter for warnings.
    sys.warnoptions.append(_UNHEARD)
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_UNHEARD)
