"""What the generated models and methods are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Any, ClassVar, Final, TypeVar, cast

M = TypeVar("M", bound="Model")


class Unset:
    """The type of `UNSET`: an argument that was not given, where `None` means to clear the field."""

    def __repr__(self) -> str:
        return "UNSET"

    def __bool__(self) -> bool:
        return False


UNSET: Final = Unset()


def given(fields: Mapping[str, Any], keep_null: bool = False) -> dict[str, Any]:
    """The fields that have a value."""
    if keep_null:
        return {name: value for name, value in fields.items() if value is not UNSET}
    return {name: value for name, value in fields.items() if value is not None and value is not UNSET}


class Model:
    """An object that the API returned.

    Fields that a newer gateway adds become attributes too, so an older client does not hide them.
    """

    _decoders: ClassVar[tuple[tuple[str, Callable[[Any], Any]], ...]] = ()
    _renames: ClassVar[Mapping[str, str]] = {}
    _required: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_json(cls: type[M], data: Mapping[str, Any]) -> M:
        # Absent fields are read from the class, where a dataclass keeps its defaults.
        model = cls.__new__(cls)
        values = model.__dict__
        values.update(data)
        for name, new_name in cls._renames.items():
            if name in values:
                values[new_name] = values.pop(name)
        for name, decode in cls._decoders:
            value = values.get(name)
            if value is not None:
                values[name] = decode(value)
        return model

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({fields})"


def decoded(model: type[Model], renames: Mapping[str, str], **decoders: Callable[[Any], Any]) -> None:
    """Says how a model's fields are decoded that are not plain JSON or have another name there."""
    model._renames = renames
    model._decoders = tuple(decoders.items())


def list_of(model: type[M]) -> Callable[[Any], list[M]]:
    decode = model.from_json
    return lambda values: [decode(value) for value in values]


def timestamp(text: str) -> datetime:
    # Before Python 3.11 `fromisoformat` does not know the `Z`.
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def decode(model: Any, value: Any) -> Any:
    """A model of what was answered; raises `ValueError` if that is something else."""
    kind = cast("type[Model]", model)
    if not isinstance(value, dict):
        raise ValueError(f"{type(value).__name__} instead of {kind.__name__}")
    if "_required" not in kind.__dict__:
        # Fields without a default; one that is nullable is there as well.
        kind._required = frozenset(f.name for f in fields(cast(Any, kind)) if f.default is MISSING)
    try:
        decoded = kind.from_json(value)
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{kind.__name__}: {error}") from error
    # Something else that answers JSON must not pass for an event that was published. An older gateway may lack a field.
    if kind._required and kind._required.isdisjoint(decoded.__dict__):
        raise ValueError(f"nothing of {kind.__name__} is in it")
    return decoded
