"""What is generated is up to date, complete, and the same for both clients."""

import inspect
import json
import pathlib
import subprocess
import sys

from gancho import Gancho, models
from gancho.generated import async_resources, resources

root = pathlib.Path(__file__).parents[3]
operations = [
    operation
    for methods in json.loads((root / "docs/openapi.json").read_text())["paths"].values()
    for operation in methods.values()
]


def methods(module, base):
    return {
        (group.removeprefix("Async"), name): method
        for group, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, base) and kind is not base
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def test_the_generated_files_are_up_to_date():
    subprocess.run([sys.executable, root / "clients/generate", "--check"], check=True)


def test_every_operation_has_a_method_in_both_clients():
    blocking = methods(resources, resources.Resource)
    waiting = methods(async_resources, async_resources.AsyncResource)
    assert len(blocking) == len(operations) and blocking.keys() == waiting.keys()
    for name, method in blocking.items():
        assert inspect.signature(method).parameters == inspect.signature(waiting[name]).parameters
        assert method.__doc__ == waiting[name].__doc__


def test_the_documents_name_every_group():
    # Fields of the client, and the same in camel case.
    client = Gancho(api_key="k", url="http://127.0.0.1:1")
    groups = [name for name in vars(client) if not name.startswith("_")]
    camel = [head + "".join(part.title() for part in rest) for head, *rest in (name.split("_") for name in groups)]
    for page, names in (("python", groups), ("typescript", camel)):
        section = (root / f"docs/clients/{page}.md").read_text().split("## Names")[1]
        assert [name for name in names if f"`{name}`" not in section] == [], page


def test_a_newer_gateways_fields_are_kept():
    event = models.PublishedEvent.from_json({"id": "e", "type": "t", "created_at": "2026-01-15T09:30:00.000Z", "new": 1})
    assert event.new == 1 and event.created_at.isoformat() == "2026-01-15T09:30:00+00:00"


def test_an_absent_field_is_none():
    assert models.BatchResult.from_json({"index": 0, "status": 202}).error is None
