"""Writes the Python client's types, models and methods."""

import json
import keyword
import textwrap

from .names import IDEMPOTENCY, pascal, snake
from .spec import PREFIX

HEADER = '"""Generated from docs/openapi.json by clients/generate. Do not edit."""\n\n'
SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "object": "dict[str, Any]"}


def files(spec):
    return {
        "__init__.py": HEADER.rstrip() + "\n",
        "types.py": types(spec),
        "models.py": models(spec),
        "resources.py": resources(spec, is_async=False),
        "async_resources.py": resources(spec, is_async=True),
    }


# ---- types ---------------------------------------------------------------------------------------------


def safe(name):
    """A name in Python's style that is not a keyword."""
    name = snake(name)
    return name + "_" if keyword.iskeyword(name) else name


def type_of(spec, schema, is_sent):
    """The type of a value, without `| None`."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
        if name == "Timestamp":
            return "datetime | str" if is_sent else "datetime"
        return "Any" if name == "Json" else f"types.{name}" if is_sent or not spec.is_object(name) else name
    if "oneOf" in schema:
        [inner] = [part for part in schema["oneOf"] if part != {"type": "null"}]
        return type_of(spec, inner, is_sent)
    if "enum" in schema:
        named = [n for n, s in spec.schemas.items() if s.get("enum") == schema["enum"] and n in spec.outputs]
        return f"types.{named[0]}" if named else literal(schema["enum"])
    kinds = schema.get("type", [])
    kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    if len(kinds) != 1:
        return "Any"
    if kinds[0] == "array":
        item = type_of(spec, schema["items"], is_sent)
        return f"Sequence[{item}]" if is_sent else f"list[{item}]"
    if kinds[0] == "object" and isinstance(schema.get("additionalProperties"), dict):
        value = type_of(spec, schema["additionalProperties"], is_sent)
        return f"Mapping[str, {value}]" if is_sent else f"dict[str, {value}]"
    if kinds[0] == "object" and is_sent:
        return "Mapping[str, Any]"
    if schema.get("format") == "date-time":
        return "datetime | str" if is_sent else "datetime"
    return SCALARS[kinds[0]]


def literal(values):
    return "Literal[" + ", ".join(json.dumps(value) for value in values) + "]"


def types(spec):
    out = [HEADER, "from __future__ import annotations\n\n", "from collections.abc import Mapping, Sequence\n"]
    out.append("from datetime import datetime\nfrom typing import TYPE_CHECKING, Any, Literal, TypedDict\n\n")
    out.append("if TYPE_CHECKING:\n    from typing_extensions import NotRequired\n\n")
    for name in sorted({*spec.inputs, *spec.outputs}):
        if "enum" in spec.schemas[name]:
            out.append(f"{name} = {literal(spec.schemas[name]['enum'])}\n")
    for name in spec.inputs:
        if not spec.is_object(name):
            continue
        out.append(f"\n\nclass {name}(TypedDict):\n")
        out.append(doc(spec.schemas[name].get("description") or "What is sent of it; absent fields get their defaults."))
        for field in spec.fields(name)[0]:
            kind = type_of(spec, field.schema, is_sent=True).replace("types.", "")
            kind += " | None" if spec.is_nullable(field.schema) else ""
            out.append(f"    {field.name}: {kind if field.required else f'NotRequired[{kind}]'}\n")
            out.append(doc(field.description))
    return "".join(out)


# ---- models --------------------------------------------------------------------------------------------


def models(spec):
    out = [HEADER, "from __future__ import annotations\n\nfrom dataclasses import dataclass\n"]
    out.append("from datetime import datetime\nfrom typing import Any\n\n")
    out.append("from .._model import Model, decoded, list_of, timestamp\nfrom . import types\n\n__all__ = [\n")
    objects = in_order(spec)
    out += [f'    "{name}",\n' for name in sorted(objects)] + ["]\n"]
    for name in objects:
        own, base = spec.fields(name)
        out.append(f"\n\n@dataclass(kw_only=True, repr=False)\nclass {name}({base or 'Model'}):\n")
        out.append(doc(spec.schemas[name].get("description") or words(name)))
        for field in own:
            optional = not field.required or spec.is_nullable(field.schema)
            kind = type_of(spec, field.schema, is_sent=False)
            kind += " | None" if optional and kind != "Any" else ""
            # A gateway of an earlier version may not have the field.
            out.append(f"    {safe(field.name)}: {kind}{' = None' if optional else ''}\n")
            out.append(doc(field.description))
    out.append("\n")
    for name in objects:
        decoders, renames = codec(spec, name)
        if decoders or renames:
            listed = "".join(f"    {key}={value},\n" for key, value in decoders.items())
            renamed = "{" + ", ".join(f'"{old}": "{new}"' for old, new in renames.items()) + "}"
            out.append(f"\ndecoded(\n    {name},\n    {renamed},\n{listed})")
    return "".join(out) + "\n"


def in_order(spec):
    """Objects that come back, each after what it extends."""
    ordered = []

    def add(name):
        base = spec.fields(name)[1]
        if base:
            add(base)
        if name not in ordered:
            ordered.append(name)

    for name in spec.outputs:
        if spec.is_object(name) and name != "Problem":
            add(name)
    return ordered


def words(name):
    return snake(name).replace("_", " ").capitalize() + "."


def codec(spec, name):
    """How fields are decoded that are not plain JSON, and those with another name, inherited ones included."""
    own, base = spec.fields(name)
    decoders, renames = codec(spec, base) if base else ({}, {})
    for field in own:
        if safe(field.name) != field.name:
            renames[field.name] = safe(field.name)
        kind = type_of(spec, field.schema, is_sent=False)
        if kind == "datetime":
            decoders[safe(field.name)] = "timestamp"
        elif kind.startswith("list[") and kind[5].isupper() and kind != "list[Any]":
            decoders[safe(field.name)] = f"list_of({kind[5:-1]})"
        elif kind[0].isupper() and kind != "Any":
            decoders[safe(field.name)] = f"{kind}.from_json"
    return decoders, renames


# ---- methods -------------------------------------------------------------------------------------------


def resources(spec, is_async):
    prefix = "Async" if is_async else ""
    base = "_async" if is_async else "_sync"
    out = [HEADER, "from __future__ import annotations\n\nfrom collections.abc import "]
    out.append("AsyncIterator, Mapping, Sequence\n" if is_async else "Iterator, Mapping, Sequence\n")
    out.append("from datetime import datetime\nfrom typing import Any, Literal\n\n")
    out.append("from .._model import UNSET, Unset, given\nfrom .._operation import Operation, path\n")
    out.append(f"from ..{base} import {prefix}Pages, {prefix}Resource\nfrom . import models, types\n")
    for group in sorted(spec.groups):
        out.append(f"\n\nclass {prefix}{pascal(group)}({prefix}Resource):\n{doc(spec.groups[group])}")
        for operation in spec.in_group(group):
            out.append("\n" + method(spec, operation, is_async, prefix))
    out.append(f"\n\nclass {prefix}Resources:\n")
    out.append(doc("The groups of methods."))
    out.append("\n    def _make_resources(self, transport: Any) -> None:\n")
    out += [f"        self.{snake(g)} = {prefix}{pascal(g)}(transport)\n" for g in sorted(spec.groups)]
    return "".join(out)


def arguments(spec, operation):
    """The arguments of a method: those that are always given, and those by name only."""
    first = [f"{safe(p.name)}: str" for p in operation.path_parameters]
    rest = []
    for p in [*(operation.body or []), *operation.query]:
        kind = type_of(spec, p.schema, is_sent=True)
        nullable = spec.is_nullable(p.schema)
        if p.name == "cursor" and operation.returns == "page":
            continue
        if p.required:
            first.append(f"{safe(p.name)}: {kind}{' | None' if nullable and kind != 'Any' else ''}")
        elif operation.is_partial_update:
            null = " | None" if nullable and kind != "Any" else ""
            rest.append(f"{safe(p.name)}: {kind}{null} | Unset = UNSET")
        else:
            rest.append(f"{safe(p.name)}: {kind}{'' if kind == 'Any' else ' | None'} = None")
    if operation.idempotency_key:
        rest.append("idempotency_key: str | None = None")
    return first, rest


def mapping(fields):
    listed = [f'"{p.name}": {safe(p.name)}' for p in fields]
    if sum(map(len, listed)) < 80:
        return "{" + ", ".join(listed) + "}"
    return "{\n" + "".join(f"    {entry},\n" for entry in listed) + "}"


def method(spec, operation, is_async, prefix):
    first, rest = arguments(spec, operation)
    listed = ["self", *first, *(["*", *rest] if rest else [])]
    model = f"models.{operation.model}"
    iterator = f"{prefix}Iterator[{model}]"
    result, call, is_awaited = {
        "nothing": ("None", "_call", True),
        "value": (model, "_call", True),
        "page": (f"{prefix}Pages[{model}]", "_list", False),
        "events": (iterator, "_stream", False),
        "lines": (iterator, "_stream", False),
    }[operation.returns]
    define = "async def" if is_async and is_awaited else "def"
    out = [f"    {define} {safe(operation.name)}(\n        " + ",\n        ".join(listed) + f",\n    ) -> {result}:\n"]
    out.append(doc(docstring(operation), 8))
    url = operation.path
    for p in operation.path_parameters:
        url = url.replace("{" + p.name + "}", "{path(" + safe(p.name) + ")}")
    built = [f'"{operation.verb}"', f'{"f" if "{" in url else ""}"{url}"']
    if operation.model:
        built.append(f"model={model}")
    if operation.takes_tenant:
        built.append("takes_tenant=True")
    query = [p for p in operation.query if not (p.name == "cursor" and operation.returns == "page")]
    if query:
        built.append(f"query=given({mapping(query)})")
    if operation.body is not None:
        always = [p for p in operation.body if p.required]
        optional = [p for p in operation.body if not p.required]
        keep_null = ", keep_null=True" if operation.is_partial_update else ""
        merged = [mapping(always)] if always else []
        merged += [f"given({mapping(optional)}{keep_null})"] if optional else []
        built.append("body=" + (" | ".join(merged) or "{}"))
    if operation.idempotency_key:
        built.append(f'idempotency=("{operation.idempotency_key}", idempotency_key)')
    waits = "await " if is_async and is_awaited else ""
    kind = "[None]" if operation.returns == "nothing" else ""
    returned = "" if operation.returns == "nothing" else "return "
    out.append(f"        {returned}{waits}self.{call}(\n            Operation{kind}(\n                ")
    out.append(",\n".join(built).replace("\n", "\n                ") + ",\n            )\n        )\n")
    return "".join(out)


def docstring(operation):
    parts = [operation.summary + "."]
    if operation.description:
        parts.append(operation.description)
    fields = [(safe(p.name), p.description) for p in [*operation.path_parameters, *(operation.body or []), *operation.query]]
    fields = [(name, text) for name, text in fields if text and not (name == "cursor" and operation.returns == "page")]
    if operation.idempotency_key:
        fields.append(("idempotency_key", IDEMPOTENCY))
    if operation.example is not None:
        ids = [safe(p.name) for p in operation.path_parameters]
        values = [f"{safe(name)}={value!r}" for name, value in operation.example.items()]
        parts.append(f"Example: `gancho.{snake(operation.group)}.{safe(operation.name)}({', '.join(ids + values)})`")
    if fields:
        parts.append("\n".join(f":param {name}: {' '.join(text.split())}" for name, text in fields))
    return "\n\n".join(parts)


def doc(text, indent=4):
    """A docstring; empty if there is no text."""
    if not text:
        return ""
    pad = " " * indent
    lines = []
    for line in text.replace("\\", "\\\\").replace('"""', "'''").splitlines():
        more = pad + ("    " if line.startswith(":param") else "")
        lines += textwrap.wrap(line, 120, initial_indent=pad, subsequent_indent=more, break_long_words=False, break_on_hyphens=False) or [""]
    lines[0] = pad + '"""' + lines[0].strip()
    if len(lines) == 1 and not lines[0].endswith('"'):
        return lines[0] + '"""\n'
    if len(lines) == 1:
        return lines[0] + ' """\n'
    return "\n".join(lines) + f'\n{pad}"""\n'
