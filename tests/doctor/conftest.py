"""What all tests of the doctor share: every finding has a severity that its row lists."""

import pytest

from tracetime import doctor
from tracetime.doctor.catalogue import CATALOGUE


@pytest.fixture(scope="package", autouse=True)
def check_severities():
    """Fail where a check gives a severity that the catalogue, and so its page, does not list."""
    every = doctor._every

    def checked(survey):
        for finding in every(survey):
            listed = CATALOGUE[finding.code].severities
            assert finding.severity in listed, f"{finding.code} is {finding.severity}"
            yield finding

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "_every", checked)
        yield
