"""Checks a record against the schema of its kind, `tests/schemas/<kind>.json`; works without a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

FOLDER = Path(__file__).parent / "schemas"


@cache
def _validator(kind: str) -> Draft202012Validator:
    """Schemas are read once: some tests validate hundreds of records."""
    schemas = {
        str(path.relative_to(FOLDER)): json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.rglob("*.json")
    }
    registry: Registry[Any] = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    return Draft202012Validator(schemas[f"{kind}.json"], registry=registry)


def validate(record: Mapping[str, Any]) -> None:
    """Raises jsonschema.ValidationError with the path of what is wrong."""
    validate_against(record["kind"], record)


def validate_against(schema: str, told: Mapping[str, Any]) -> None:
    """Part of a record, or a record, against the schema of this name; raises as `validate`."""
    # Once through JSON, so that a tuple is judged as the array it becomes.
    _validator(schema).validate(json.loads(json.dumps(told)))
