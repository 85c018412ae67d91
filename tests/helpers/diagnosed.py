"""What the doctor finds in the bytes of a trace."""

from reading import opened

from tracetime import diagnose


def findings(data, **options):
    """The findings of a trace, which may be cut off."""
    with opened(data, partial=True) as trace:
        return diagnose(trace, **options)


def every(found):
    """Findings and all that they lead to."""
    for finding in found:
        yield finding
        yield from every(finding.consequences)
