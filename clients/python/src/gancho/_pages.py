"""A page of a list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._model import Model, decode
from ._operation import Operation

T = TypeVar("T")


@dataclass
class Page(Generic[T]):
    """A page of a list. It may be empty and still not the last one."""

    data: list[T]
    next_cursor: str | None
    """Where the next page starts; `None` on the last one."""

    @staticmethod
    def from_json(operation: Operation[T], value: Any) -> Page[T]:
        model = operation.model
        return Page([decode(model, item) for item in value["data"]], value.get("next_cursor"))


def decoded_answer(operation: Operation[T], value: Any) -> T:
    answer: T = value
    if operation.model is not None and issubclass(operation.model, Model):
        answer = decode(operation.model, value)
    return answer


class EventStreamParser:
    """Takes the lines of a stream, server-sent events or JSON lines, and returns the JSON of each complete one."""

    def __init__(self, content_type: str) -> None:
        self.is_sse = content_type.startswith("text/event-stream")
        self.data: list[str] = []

    def feed(self, line: str) -> str | None:
        line = line.rstrip("\r\n")
        if not self.is_sse:
            return line or None
        if line.startswith("data:"):
            self.data.append(line[5:].removeprefix(" "))
        elif not line and self.data:
            complete = "\n".join(self.data)
            self.data = []
            return complete
        return None
