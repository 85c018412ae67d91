"""Small traces that the tests of the command line share."""

from building import event, packet, pb, snapshot, trace

MONOTONIC, BOOTTIME, REALTIME = 3, 6, 1
WALL = 1787410120123456789  # 2026-08-22T14:48:40.123456789Z

# MONOTONIC against BOOTTIME as on Perfetto's clock-sync page, and REALTIME besides.
CLOCK_SYNC = trace(
    *(
        snapshot({MONOTONIC: m, BOOTTIME: b, REALTIME: WALL + b})
        for m, b in zip(
            (1000, 1100, 1200, 1900, 2000, 2100), (2000, 2100, 2200, 2900, 3500, 3600), strict=True
        )
    ),
    snapshot({64: (5, 1000, True), BOOTTIME: 5000}, seq=7),
    event(1104, MONOTONIC),
    event(2, 64, seq=7),
)
UNRESOLVED = trace(
    *(snapshot({BOOTTIME: 1000 + n, MONOTONIC: 2000 - n}) for n in range(2)),
    event(1, MONOTONIC),
    event(2, 777),
    event(3, BOOTTIME),
    event(4, needs_state=True, seq=9),
)
EMPTY = trace(snapshot({BOOTTIME: 1, MONOTONIC: 2}))
MANY = trace(
    *(snapshot({64: (n, 1000), BOOTTIME: 1000 * n}, seq=n) for n in range(1, 40)),
    *(event(5, 64, seq=n) for n in range(1, 40)),
)

_THREAD = pb.TrackDescriptor(uuid=7, thread=pb.ThreadDescriptor(pid=10, tid=11))
SLICES = trace(
    packet(seq=1, cleared=True),
    snapshot({BOOTTIME: 1}),
    packet(seq=1, track_descriptor=_THREAD),
    *(
        packet(ts, BOOTTIME, 1, track_event=pb.TrackEvent(type=type, name=name, track_uuid=7))
        for ts, type, name in ((5, 1, "outer"), (7, 1, "inner"), (10, 2, None), (15, 2, None))
    ),
)
"""An inner slice within an outer one, on one thread."""
