"""Writes a sample call of each operation, for the API reference that the gateway serves at /docs."""

import json
import re
from urllib.parse import urlencode

from .names import POSITIONAL, camel, snake
from .python import safe

WIDTH = 88
# Parameters without which a call is refused.
QUERY = {"purgeDeadLetters": {"code": "HTTP_410"}, "search": {"q": "invoice-4711"}}


def files(spec):
    samples = {
        operation.id: {"python": python(operation), "typescript": typescript(operation)}
        for operation in spec.operations
    }
    for id, parameters in QUERY.items():
        samples[id]["query"] = urlencode(parameters)
    return {"samples.json": json.dumps(samples, indent=1, ensure_ascii=False, sort_keys=True) + "\n"}


def positional(operation):
    return [value for name, value in arguments(operation) if name in POSITIONAL.get(operation.id, [])]


def named(operation):
    return [(name, value) for name, value in arguments(operation) if name not in POSITIONAL.get(operation.id, [])]


def arguments(operation):
    """The fields of the example that are arguments, those that are required first."""
    example = operation.example or {}
    given = [(field.name, example[field.name]) for field in operation.body or [] if field.name in example]
    return given + list(QUERY.get(operation.id, {}).items())


# ---- Python --------------------------------------------------------------------------------------------


def python(operation):
    listed = [json.dumps(p.example, ensure_ascii=False) for p in operation.path_parameters]
    listed += [python_literal(value, 4) for value in positional(operation)]
    listed += [f"{safe(name)}={python_literal(value, 4)}" for name, value in named(operation)]
    call = f"gancho.{snake(operation.group)}.{safe(operation.name)}({folded(listed, '    ', 4)})"
    lines = ["from gancho import Gancho", "", "gancho = Gancho()  # reads GANCHO_URL and GANCHO_API_KEY"]
    if operation.is_for_operator:
        lines = ["import os", "", "from gancho import Gancho", "", 'gancho = Gancho(token=os.environ["GANCHO_ADMIN_TOKEN"])']
    if operation.returns == "nothing":
        lines.append(call)
    elif operation.returns == "value":
        lines.append(f"{variable(operation, snake)} = {call}")
    else:
        item = variable(operation, snake)
        lines += [f"for {item} in {call}:", f"    print({item})"]
    return "\n".join(lines)


def python_literal(value, indent):
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, dict):
        entries = [f"{json.dumps(k, ensure_ascii=False)}: {python_literal(v, indent + 4)}" for k, v in value.items()]
        return "{" + folded(entries, " " * (indent + 4), 4) + "}"
    if isinstance(value, list):
        return "[" + folded([python_literal(item, indent + 4) for item in value], " " * (indent + 4), 4) + "]"
    return json.dumps(value, ensure_ascii=False)


# ---- TypeScript ----------------------------------------------------------------------------------------


def typescript(operation):
    listed = [json.dumps(p.example, ensure_ascii=False) for p in operation.path_parameters]
    listed += [typescript_literal(value, 0) for value in positional(operation)]
    if named(operation):
        listed.append(typescript_literal(dict(named(operation)), 0))
    call = f"gancho.{operation.group}.{operation.name}({', '.join(listed)})"
    made = "new Gancho(); // reads GANCHO_URL and GANCHO_API_KEY"
    if operation.is_for_operator:
        made = "new Gancho({ token: process.env.GANCHO_ADMIN_TOKEN });"
    lines = ['import { Gancho } from "@gancho/client";', "", f"const gancho = {made}"]
    if operation.returns == "nothing":
        lines.append(f"await {call};")
    elif operation.returns == "value":
        lines.append(f"const {variable(operation, camel)} = await {call};")
    else:
        item = variable(operation, camel)
        lines.append(f"for await (const {item} of {call}) console.log({item});")
    return "\n".join(lines)


def typescript_literal(value, indent):
    if isinstance(value, dict):
        if not value:
            return "{}"
        entries = [
            f"{name if re.fullmatch('[A-Za-z_]+', name) else json.dumps(name)}: {typescript_literal(field, indent + 2)}"
            for name, field in value.items()
        ]
        text = folded(entries, " " * (indent + 2), 2)
        return "{" + (text if text.startswith("\n") else f" {text} ") + "}"
    if isinstance(value, list):
        return "[" + folded([typescript_literal(item, indent + 2) for item in value], " " * (indent + 2), 2) + "]"
    return json.dumps(value, ensure_ascii=False)


# ---- both ----------------------------------------------------------------------------------------------


def variable(operation, style):
    """What comes back is named after its type: a `NewWebhook` is a `webhook`."""
    name = re.sub("^(New|Published|Accepted|Made)(?=[A-Z])|(Detail|Summary|Entry)$", "", operation.model)
    name = style(name[0].lower() + name[1:])
    return "result" if name in ("gancho", "import", "delete", "new") else name


def folded(parts, pad, step):
    """On one line if there is room, else one a line."""
    line = ", ".join(parts)
    if "\n" not in line and len(line) <= WIDTH - len(pad):
        return line
    return "\n" + "".join(f"{pad}{part},\n" for part in parts) + pad[step:]
