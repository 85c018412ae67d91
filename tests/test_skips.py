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
    ("name", "required", "code"),
    [
        ("test", "0", 0),
        ("test", "1", 1),
        # pytest says 5 where no test was run, and 2 where a file could not be read.
        ("file", "0", 5),
        ("file", "1", 2),
        ("data", "1", 5),
        ("run", "1", 0),
    ],
)
def test_what_is_skipped_fails_where_nothing_may_be(tmp_path, name, required, code):
    (tmp_path / "test_it.py").write_text(FILES[name])
    here = Path(__file__).parent
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(here), "TRACETIME_REQUIRE_ALL": required},
        capture_output=True,
        check=False,
    )
    assert found.returncode == code, found.stdout.decode()
