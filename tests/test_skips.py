"""With TRACETIME_REQUIRE_ALL=1 a skip is a failure, that of a whole file too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "test": 'import pytest\n\ndef test(): pytest.skip("no tool")\n',
    "file": 'import pytest\n\npytest.importorskip("no_such_module")\n\ndef test(): pass\n',
    "data": 'import pytest\n\npytest.skip("no test data", allow_module_level=True)\n',
    "run": "def test(): pass\n",
}


@pytest.mark.parametrize(
    ("required", "ended"),
    [
        ("0", "1 passed, 3 skipped"),
        # Only the data may be lacking. A file that could not be read is an error.
        ("1", "1 failed, 1 passed, 1 skipped, 1 error"),
    ],
)
def test_what_is_skipped_fails_where_nothing_may_be(tmp_path, required, ended):
    for name, content in FILES.items():
        (tmp_path / f"test_{name}.py").write_text(content)
    here = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"]
    found = subprocess.run(
        [*command, "--continue-on-collection-errors", "."],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(here), "TRACETIME_REQUIRE_ALL": required},
        capture_output=True,
        text=True,
    )
    assert ended in found.stdout
    assert found.returncode == int(required)
