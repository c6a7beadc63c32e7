"""Writes the TypeScript client's types and methods."""

import json

from .names import IDEMPOTENCY, POSITIONAL, camel, pascal
from .spec import PREFIX, Parameter

HEADER = "// Generated from docs/openapi.json by clients/generate. Do not edit.\n\n"
SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def files(spec):
    return {"types.ts": types(spec), "resources.ts": resources(spec)}


# ---- types ---------------------------------------------------------------------------------------------


def type_of(spec, schema):
    """The type of a value, without `| null`."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
        return {"Timestamp": "string", "Json": "unknown"}.get(name, name)
    if "oneOf" in schema:
        [inner] = [part for part in schema["oneOf"] if part != {"type": "null"}]
        return type_of(spec, inner)
    if "enum" in schema:
        named = [n for n, s in spec.schemas.items() if s.get("enum") == schema["enum"] and n in spec.outputs]
        return named[0] if named else union(schema["enum"])
    kinds = schema.get("type", [])
    kinds = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    if len(kinds) != 1:
        return "unknown"
    if kinds[0] == "array":
        item = type_of(spec, schema["items"])
        return f"({item})[]" if "|" in item else f"{item}[]"
    if kinds[0] == "object":
        values = schema.get("additionalProperties")
        return f"Record<string, {type_of(spec, values) if isinstance(values, dict) else 'unknown'}>"
    return SCALARS[kinds[0]]


def union(values):
    return " | ".join(json.dumps(value) for value in values if value is not None)


def field_of(spec, parameter, is_sent, pad="  "):
    kind = type_of(spec, parameter.schema)
    if spec.is_nullable(parameter.schema) and kind != "unknown":
        kind += " | null"
    if is_sent and ("date-time" == parameter.schema.get("format") or kind == "Timestamp"):
        kind = kind.replace("string", "string | Date")
    mark = "" if parameter.required else "?"
    return comment(parameter.description, pad) + f"{pad}{parameter.name}{mark}: {kind};\n"


def types(spec):
    out = [HEADER]
    for name in sorted({*spec.inputs, *spec.outputs}):
        schema = spec.schemas[name]
        if "enum" in schema:
            out.append(comment(schema.get("description"), "") + f"export type {name} = {union(schema['enum'])};\n\n")
        elif spec.is_object(name):
            own, base = spec.fields(name)
            extends = f" extends {base}" if base else ""
            out.append(comment(schema.get("description"), "") + f"export interface {name}{extends} {{\n")
            out += [field_of(spec, field, name in spec.inputs) for field in own] + ["}\n\n"]
    for operation in spec.operations:
        fields = options(operation)
        if fields:
            out.append(f"/** What `{operation.group}.{operation.name}` takes. */\nexport interface {options_name(operation)} {{\n")
            out += [field_of(spec, field, True) for field in fields]
            out.append("}\n\n")
    return "".join(out).rstrip() + "\n"


def options_name(operation):
    return pascal(operation.id) + "Options"


def options(operation):
    """The fields of the last argument. A list fetches its own cursors."""
    fields = [*(operation.body or []), *operation.query]
    positional = POSITIONAL.get(operation.id, [])
    fields = [p for p in fields if p.name not in positional and not (p.name == "cursor" and operation.returns == "page")]
    if operation.idempotency_key:
        fields.append(Parameter("idempotency_key", {"type": "string"}, False, IDEMPOTENCY))
    return fields


# ---- methods -------------------------------------------------------------------------------------------


def resources(spec):
    out = [HEADER, 'import { Resource, path } from "../resource.js";\nimport type { Pages } from "../pages.js";\n']
    out.append('import type { Transport } from "../transport.js";\nimport type * as types from "./types.js";\n')
    for group in sorted(spec.groups):
        out.append(f"\n{comment(spec.groups[group], '')}export class {pascal(group)} extends Resource {{\n")
        out.append("\n".join(method(spec, operation) for operation in spec.in_group(group)) + "}\n")
    out.append("\n/** The groups of methods. */\nexport abstract class Resources {\n")
    out += [f"  readonly {group}: {pascal(group)};\n" for group in sorted(spec.groups)]
    out.append("\n  constructor(transport: Transport) {\n")
    out += [f"    this.{group} = new {pascal(group)}(transport);\n" for group in sorted(spec.groups)]
    return "".join(out) + "  }\n}\n"


def qualified(spec, kind):
    """A type, with where it comes from."""
    bare = kind.rstrip("[]").strip("()")
    return kind.replace(bare, f"types.{bare}", 1) if bare in spec.schemas else kind


def method(spec, operation):
    positional = [p for p in operation.body or [] if p.name in POSITIONAL.get(operation.id, [])]
    fields = options(operation)
    listed = [f"{camel(p.name)}: string" for p in operation.path_parameters]
    listed += [f"{p.name}: {qualified(spec, type_of(spec, p.schema))}" for p in positional]
    if fields:
        default = "" if any(p.required for p in fields) else " = {}"
        listed.append(f"options: types.{options_name(operation)}{default}")
    model = f"types.{operation.model}"
    result, call = {
        "nothing": ("Promise<void>", "_call"),
        "value": (f"Promise<{model}>", "_call"),
        "page": (f"Pages<{model}>", "_list"),
        "events": (f"AsyncIterableIterator<{model}>", "_events"),
        "lines": (f"AsyncIterableIterator<{model}>", "_lines"),
    }[operation.returns]
    url = operation.path
    for p in operation.path_parameters:
        url = url.replace("{" + p.name + "}", "${path(" + camel(p.name) + ")}")
    built = [f'method: "{operation.verb}"', "url: " + (f"`{url}`" if "$" in url else f'"{url}"')]
    if operation.takes_tenant:
        built.append("takesTenant: true")
    query = [p for p in fields if p in operation.query]
    if query and not operation.body:
        built.append("query: options")
    elif query:
        built.append("query: { " + ", ".join(f"{p.name}: options.{p.name}" for p in query) + " }")
    if operation.body is not None:
        parts = [p.name for p in positional]
        parts += ["...options"] if any(p in fields for p in operation.body) else []
        built.append("body: options" if parts == ["...options"] else "body: { " + ", ".join(parts) + " }")
    if operation.idempotency_key:
        built.append(f'idempotency: {{ field: "{operation.idempotency_key}", key: options.idempotency_key }}')
    text = operation.summary + "." + ("\n\n" + operation.description if operation.description else "")
    if operation.example is not None and operation.id not in POSITIONAL:
        ids = "".join(f"{camel(p.name)}, " for p in operation.path_parameters)
        text += f"\n\n@example gancho.{operation.group}.{operation.name}({ids}{json.dumps(operation.example, ensure_ascii=False)})"
    if operation.returns == "value" and (required := required_fields(spec, operation.model)):
        built.append(f"required: {json.dumps(required)}")
    type_argument = f"<{'void' if operation.returns == 'nothing' else model}>"
    return (
        comment(text, "  ")
        # A method that returns a promise does not throw before it.
        + f"  {'async ' if result.startswith('Promise') else ''}{operation.name}({', '.join(listed)}): {result} {{\n"
        + f"    return this.{call}{type_argument}({{ {', '.join(built)} }});\n  }}\n"
    )


def required_fields(spec, name):
    own, base = spec.fields(name)
    return (required_fields(spec, base) if base else []) + [
        field.name for field in own if field.required and not spec.is_nullable(field.schema)
    ]


def comment(text, pad):
    if not text:
        return ""
    lines = text.replace("*/", "*\\/").splitlines()
    if len(lines) == 1:
        return f"{pad}/** {lines[0]} */\n"
    return f"{pad}/**\n" + "".join(f"{pad} * {line}".rstrip() + "\n" for line in lines) + f"{pad} */\n"
