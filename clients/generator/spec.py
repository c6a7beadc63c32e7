"""Reads an OpenAPI description into operations and named types."""

import json
from dataclasses import dataclass, field

from . import names

PREFIX = "#/components/schemas/"


@dataclass
class Parameter:
    name: str
    schema: dict
    required: bool
    description: str
    # Of a parameter in a path.
    example: object = None


@dataclass
class Operation:
    id: str
    group: str
    name: str
    verb: str
    path: str
    summary: str
    description: str
    path_parameters: list
    query: list
    body: list | None
    example: object
    takes_tenant: bool
    is_for_operator: bool
    # Where the idempotency key goes: `header`, the name of a field of the body, or nowhere.
    idempotency_key: str | None
    # What comes back: `nothing`, `value`, `page`, `events` (server-sent), or `lines` (of JSON).
    returns: str
    model: str | None

    @property
    def is_partial_update(self):
        return self.verb == "PATCH"


@dataclass
class Spec:
    operations: list
    schemas: dict
    groups: dict
    # Names of schemas that are sent, and of those that come back.
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)

    @staticmethod
    def read(path):
        document = json.loads(path.read_text())
        spec = Spec([], dict(document["components"]["schemas"]), {})
        about = {names.GROUPS[tag["name"]]: tag["description"] for tag in document["tags"]}
        for path, methods in document["paths"].items():
            for verb, operation in methods.items():
                spec.operations.append(spec._operation(verb.upper(), path, operation))
        for operation in spec.operations:
            group = spec.groups.setdefault(operation.group, (about | names.ABOUT)[operation.group])
            assert group, operation
        spec._sort_by_direction()
        taken = [(operation.group, operation.name) for operation in spec.operations]
        assert len(taken) == len(set(taken)), [name for name in taken if taken.count(name) > 1]
        return spec

    def in_group(self, group):
        return [operation for operation in self.operations if operation.group == group]

    def resolve(self, schema):
        while "$ref" in schema:
            schema = self.schemas[schema["$ref"].removeprefix(PREFIX)]
        return schema

    # ---- operations --------------------------------------------------------------------------------

    def _operation(self, verb, path, operation):
        group, name = names.method_of(operation["operationId"], operation["tags"][0])
        parameters = operation.get("parameters", [])
        headers = [p["name"] for p in parameters if p["in"] == "header"]
        body, example = self._body(operation.get("requestBody"))
        key = "header" if "Idempotency-Key" in headers else None
        for field in body or []:
            if key and names.snake(field.name) == "idempotency_key":
                key = field.name
        in_body = {field.name for field in body or []}
        returns, model = self._answer(operation["responses"])
        return Operation(
            id=operation["operationId"], group=group, name=name, verb=verb, path=path,
            summary=operation["summary"], description=operation.get("description", ""),
            path_parameters=self._parameters(parameters, "path"),
            # Filters of a replay may be sent in both places; the body is enough.
            query=[p for p in self._parameters(parameters, "query") if p.name not in in_body],
            body=None if body is None else [field for field in body if field.name != key],
            example=example, takes_tenant="X-Tenant" in headers,
            is_for_operator=not any("api_key" in scheme for scheme in operation["security"]), idempotency_key=key,
            returns=returns, model=model,
        )

    def _parameters(self, parameters, place):
        return [
            Parameter(p["name"], p["schema"], p.get("required", False), p.get("description", ""), p.get("example"))
            for p in parameters
            if p["in"] == place
        ]

    def _body(self, body):
        if body is None:
            return None, None
        [content] = body["content"].values()
        schema = self.resolve(content["schema"])
        required = schema.get("required", [])
        order = required + [name for name in schema["properties"] if name not in required]
        fields = [
            Parameter(name, schema["properties"][name], name in required, self.about(schema["properties"][name]))
            for name in order
        ]
        return fields, content.get("example")

    def _answer(self, responses):
        [answer] = [answer for status, answer in responses.items() if status.startswith("2")]
        if not answer.get("content"):
            return "nothing", None
        [(media, content)] = answer["content"].items()
        name = content["schema"]["$ref"].removeprefix(PREFIX)
        if media == "text/event-stream":
            return "events", name
        if media == "application/x-ndjson":
            return "lines", name
        properties = self.schemas[name].get("properties", {})
        if properties.keys() == {"data", "next_cursor"}:
            return "page", properties["data"]["items"]["$ref"].removeprefix(PREFIX)
        return "value", name

    # ---- types -------------------------------------------------------------------------------------

    def about(self, schema):
        """The description of a schema, also where it is beside a reference or inside of a nullable one."""
        for part in schema.get("oneOf", []):
            schema = {**part, **schema}
        return schema.get("description", "")

    def is_nullable(self, schema):
        kind = schema.get("type")
        return (isinstance(kind, list) and "null" in kind) or {"type": "null"} in schema.get("oneOf", [])

    def fields(self, name):
        """The own fields of an object and the object that it extends."""
        schema, base = self.schemas[name], None
        if "allOf" in schema:
            [base, schema] = schema["allOf"]
            base = base["$ref"].removeprefix(PREFIX)
        required = schema.get("required", [])
        own = [
            Parameter(field, value, field in required, self.about(value))
            for field, value in schema.get("properties", {}).items()
        ]
        return own, base

    def is_object(self, name):
        schema = self.schemas[name]
        return "properties" in schema or "allOf" in schema

    def _sort_by_direction(self):
        def reach(schema, seen):
            if "$ref" in schema:
                name = schema["$ref"].removeprefix(PREFIX)
                if name not in seen:
                    seen.add(name)
                    reach(self.schemas[name], seen)
            for part in schema.get("oneOf", []) + schema.get("allOf", []) + list(schema.get("properties", {}).values()):
                reach(part, seen)
            for key in ("items", "additionalProperties"):
                if isinstance(schema.get(key), dict):
                    reach(schema[key], seen)

        sent, received = set(), set()
        for operation in self.operations:
            for parameter in (operation.body or []) + operation.query:
                reach(parameter.schema, sent)
            if operation.model:
                reach({"$ref": PREFIX + operation.model}, received)
        self.inputs, self.outputs = sorted(sent), sorted(received)
