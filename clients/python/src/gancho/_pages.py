"""A page of a list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._model import Model, decode
from ._operation import Operation
from . import errors
from .errors import not_json, too_large, unexpected_answer

T = TypeVar("T")


@dataclass
class Page(Generic[T]):
    """A page of a list. It may be empty and still not the last one."""

    data: list[T]
    next_cursor: str | None
    """Where the next page starts; `None` on the last one."""

    @staticmethod
    def from_json(operation: Operation[T], value: Any) -> Page[T]:
        data, cursor = (value.get("data"), value.get("next_cursor")) if isinstance(value, dict) else (None, None)
        if not isinstance(data, list) or not isinstance(cursor, (str, type(None))):
            raise unexpected_answer("it is not a page of a list")
        # A list that leads back to the same page would never end.
        if cursor is not None and cursor == (operation.query or {}).get("cursor"):
            raise unexpected_answer("the next page of a list is the same one")
        try:
            return Page([decode(operation.model, item) for item in data], cursor)
        except ValueError as error:
            raise unexpected_answer(str(error)) from error


def decoded_answer(operation: Operation[T], value: Any) -> T:
    answer: T = value
    if operation.model is not None and issubclass(operation.model, Model):
        try:
            answer = decode(operation.model, value)
        except ValueError as error:
            raise unexpected_answer(str(error)) from error
    return answer


def decoded_line(operation: Operation[T], text: str) -> T:
    try:
        return decoded_answer(operation, json.loads(text))
    except (ValueError, RecursionError) as error:
        raise unexpected_answer(str(error)) from error


class LineSplitter:
    """Splits what arrives into lines. What is not UTF-8 is replaced."""

    def __init__(self, status: int, headers: Mapping[str, str], url: str) -> None:
        self.answer = (status, headers, url)
        self.parts: list[bytes] = []
        self.size = 0

    def feed(self, chunk: bytes) -> list[str]:
        """The lines that the chunk completes."""
        first, *others = chunk.split(b"\n")
        self._add(first)
        lines = []
        for part in others:
            lines.append(self.rest())
            self._add(part)
        return lines

    def rest(self) -> str:
        """What has arrived of a line."""
        line = b"".join(self.parts).decode(errors="replace")
        self.parts, self.size = [], 0
        return line

    def _add(self, part: bytes) -> None:
        self.parts.append(part)
        self.size += len(part)
        if self.size > errors.MAX_ANSWER:
            raise too_large(*self.answer)


class EventStreamParser:
    """Takes the lines of a stream, server-sent events or JSON lines, and returns the JSON of each complete one."""

    def __init__(self, status: int, headers: Mapping[str, str], url: str) -> None:
        kind = headers.get("content-type", "").lower()
        self.is_sse = kind.startswith("text/event-stream")
        if not self.is_sse and not kind.startswith("application/x-ndjson"):
            raise not_json(status, headers, url)
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
