"""The OpenRPC document of the socket, made from the one table of methods."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from memd import __version__
from memd.rpc.faults import CODES
from memd.serve.route import Route
from memd.serve.routes.routes import METHODS

_OPENRPC = "1.3.2"
_REF = "#/components/schemas/{model}"


def document() -> dict[str, Any]:
    """Return the document: each method with its params by name, its result, and the errors.

    Schemas that methods share stand once, under ``components``.
    """
    inputs = [(method.params, "validation") for method in METHODS.values()]
    _, shared = models_json_schema(inputs, ref_template=_REF)  # type: ignore[arg-type]  # a list of pairs, as asked
    schemas: dict[str, Any] = shared.get("$defs", {})
    methods = [_method(method, schemas) for method in METHODS.values()]
    return {
        "openrpc": _OPENRPC,
        "info": {
            "title": "memd",
            "version": __version__,
            "description": "JSON-RPC 2.0, one message a line, on a Unix socket.",
        },
        "methods": methods,
        "components": {"schemas": schemas},
        "x-error-kinds": dict(CODES),
    }


def _method(method: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = schemas[method.params.__name__]
    required = set(schema.get("required", ()))
    return {
        "name": method.name,
        "summary": method.summary,
        "paramStructure": "by-name",
        "params": [
            {"name": name, "required": name in required, "schema": inner}
            for name, inner in schema.get("properties", {}).items()
        ],
        "result": {"name": "result", "schema": _result(method, schemas)},
        "x-writes": method.writes,
        "x-scope": method.scope,
    }


def _result(method: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    schema = TypeAdapter(method.result).json_schema(ref_template=_REF, mode="serialization")
    for name, inner in schema.pop("$defs", {}).items():
        schemas.setdefault(name, inner)
    title = schema.get("title")
    if schema.get("type") == "object" and title and title not in schemas:
        schemas[title] = schema
        return {"$ref": _REF.format(model=title)}
    return schema
