"""Archives of one trace or several, and of what is none; lengths, names and flags that are off."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from random import Random


def samples() -> list[bytes]:
    from building import MONOTONIC, event, snapshot, trace
    from journals import logged

    one = trace(snapshot({6: 1000, MONOTONIC: 900}), event(950, MONOTONIC))
    notes = {"README": b"#", "meta.json": b'{"perfetto_manifest": {}}', "d/": b""}
    single = {**notes, "one": one}
    several = {**single, "two.gz": gzip.compress(one), "j": logged(1), "\xe9": one}
    found = []
    for members in (single, several):
        found += [_zip(members, how) for how in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)]
        found += [_tar(members, form) for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)]
    return [*found, gzip.compress(_tar(single, tarfile.PAX_FORMAT))]


def _zip(members: dict[str, bytes], how: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return out.getvalue()


def _tar(members: dict[str, bytes], form: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        for name, content in members.items():
            info = tarfile.TarInfo(name * (1 + 60 * (name == "one")))
            info.size = len(content)
            made.addfile(info, io.BytesIO(content))
    return out.getvalue()


def mutate(random: Random, data: bytes) -> bytes:
    """Change a field of a header of zip, or of tar, whose checksum is put right."""
    made = bytearray(data)
    if data[257:262] == b"ustar":
        at = random.randrange(0, len(made), 512)
        start, n = random.choice(((0, 100), (124, 12), (156, 1), (345, 155)))
        put = random.choice((b"7" * n, b"\x80" + b"\xff" * n, b"L" * n, b"x" * n, b"-1".ljust(n)))
        made[at + start : at + start + n] = put[:n]
        made[at + 148 : at + 156] = b" " * 8
        made[at + 148 : at + 156] = b"%06o\0 " % sum(made[at : at + 512])
        return bytes(made)
    at = data.find(random.choice((b"PK\1\2", b"PK\3\4", b"PK\5\6")), random.randrange(len(data)))
    if at >= 0:
        made[at + 4 + random.randrange(42) : at + 46] = random.randbytes(2)
    return bytes(made)
