"""Checks a record against the schema of its kind, `tests/schemas/<kind>.json`; works without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

FOLDER = Path(__file__).parent / "schemas"


def validate(record: Mapping[str, Any]) -> None:
    """Raises jsonschema.ValidationError with the path of what is wrong."""
    schemas = {
        str(path.relative_to(FOLDER)): json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.rglob("*.json")
    }
    registry: Registry[Any] = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    # Once through JSON, so that a tuple is judged as the array it becomes.
    Draft202012Validator(schemas[f"{record['kind']}.json"], registry=registry).validate(json.loads(json.dumps(record)))
