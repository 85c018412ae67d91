"""The perfetto_manifest of an open archive, and the names that it gives machines of its traces."""

from __future__ import annotations

from tracetime.errors import TraceError
from tracetime.formats.archive.archive import Archive
from tracetime.merging.manifest_reading import MOST_BYTES, Manifest, read_manifest
from tracetime.text import printable
from tracetime.trace.trace import Trace


def manifest_of(archive: Archive) -> Manifest | None:
    """Return the manifest of an archive; None without one.

    Raises:
        TraceError: there are two, or it breaks a rule, or has an offset for what is no trace.
    """
    if len(archive.manifests) > 1:
        raise TraceError("multiple perfetto_manifest files in archive: keep one")
    if not archive.manifests:
        return None
    manifest = read_manifest(archive.read(archive.manifests[0], MOST_BYTES))
    for file in manifest.files:
        if file.clocks is not None and file.path not in archive.members:
            raise TraceError(
                f"perfetto_manifest: clocks of {printable(file.path, 100)!r}: the archive has no "
                "such trace"
            )
    return manifest


def machine_names(manifest: Manifest, member: str, trace: Trace) -> dict[int, str]:
    """Return the names that a manifest gives the machines of a trace, by their index there.

    Raises:
        TraceError: it has packets of a machine that the manifest does not declare.
    """
    entry = manifest.entry(member)
    if entry is None or not entry.machines:
        return {}
    numbers = trace.machines
    shown = printable(member, 100)
    if not entry.is_multi_machine:
        if len(numbers) > 1:
            raise TraceError(
                f"perfetto_manifest: machine: {shown!r} has packets of {len(numbers)} machines: "
                "declare each in machines"
            )
        return {0: entry.machines[0].name}
    names = {machine.id: machine.name for machine in entry.machines}
    for number in numbers:
        if number and number not in names:
            raise TraceError(
                f"perfetto_manifest: undeclared machine id {number} in {shown!r}: declare it in "
                "machines"
            )
    return {n: names[number] for n, number in enumerate(numbers) if number in names}
