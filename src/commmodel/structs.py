"""Structs that users make, checked when they are made as files are when they are read. Main entry: `InputStruct`."""

from typing import Any

from msgspec import Struct, StructMeta

from commmodel.docstrings import with_attributes
from commmodel.signatures import check_fields

__all__ = ["InputStruct"]


class _InputMeta(StructMeta):
    def __call__(cls, *arguments: Any, **keywords: Any) -> Any:  # noqa: N805  (of a metaclass)
        struct = super().__call__(*arguments, **keywords)
        check_fields(struct)
        return struct


class InputStruct(Struct, frozen=True, metaclass=_InputMeta):
    """Base of a struct of files. Decoding checks the fields' types and bounds; so does a call of the class.

    >>> from commmodel.results.configurations import PingPong
    >>> PingPong(-8, "any")
    Traceback (most recent call last):
    commmodel.errors.InputError: message_size is -8: give a whole number from 0 up
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `help` show the fields."""
        super().__init_subclass__(**options)
        with_attributes(cls)
