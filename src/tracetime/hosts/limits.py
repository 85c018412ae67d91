"""How many replies a source gets: a bucket of tokens each, for a bounded number of sources."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Final

_S: Final = 1_000_000_000


class RateLimit:
    """Lets each source have `burst` at once, and `per_second` on average.

    Args:
        per_second, burst: whole numbers above 0.
        max_sources: of more, the one that was silent longest is forgotten.
    """

    def __init__(self, per_second: int, burst: int, max_sources: int) -> None:
        self._ns_each = max(1, _S // per_second)
        self._full_ns = self._ns_each * burst
        self._max_sources = max_sources
        # By source, from when on its bucket is full, ns: what is missing refills until then.
        self._full_at: OrderedDict[Hashable, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    def allows(self, source: Hashable, now_ns: int) -> bool:
        """Take a token of the source, if there is one; now_ns: of a clock that never runs back."""
        full_at = max(self._full_at.get(source, now_ns), now_ns) + self._ns_each
        if full_at > now_ns + self._full_ns:
            return False
        self._full_at[source] = full_at
        self._full_at.move_to_end(source)
        if len(self._full_at) > self._max_sources:
            self._full_at.popitem(last=False)
        return True
