"""Write docs/schemas and docs/reference/json.md.

Usage: python -m tools.json_schemas
"""

from tools.json_schemas.page import files

for path, written in files().items():
    path.parent.mkdir(exist_ok=True)
    path.write_text(written)
