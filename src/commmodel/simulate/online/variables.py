"""Buffers of MPI calls beside the variables of a C program, as its debug information has them. Main entry: `misuses`.

Ranks tell where buffers lie: in the frame of the function that calls, in the data of its file, or elsewhere with a
pointer to them in that frame. Variables that the compiler keeps at one place (always without optimisation) say how long
a buffer is and which type its elements have; pointers say the latter of other memory.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from commmodel.simulate.findings import Finding

OVERRUN, TYPE = "buffer overrun", "memory of another type"
"""Kinds of findings."""
_LANGUAGES = {0x1, 0x2, 0x4, 0xC, 0x1A, 0x1D, 0x21, 0x2A, 0x2B, 0x2C}
"""Of DWARF: C and C++."""
_STACK, _FRAME = 7, 6
"""Of DWARF: registers of the stack and of the frame, of x86-64."""
_NAMELESS = {"const", "volatile", "restrict", "atomic"}
_ORIGINS = "DW_AT_abstract_origin", "DW_AT_specification"
"""Of DWARF: where the name and the type of an entry without them are."""
_KINDS = {0x2: "signed", 0x3: "complex", 0x4: "float", 0x5: "signed", 0x6: "signed", 0x7: "unsigned", 0x8: "unsigned"}
_WORDS = {"int": "signed", "uint": "unsigned", "float": "float", "double": "float", "long double": "float"}


@dataclass(frozen=True)
class MemoryUse:
    """What a call does with memory; distances in bytes from the stack's end at the call."""

    verb: str
    place: str
    """``stack``, ``data`` (with the distance from the beginning of the file) or ``elsewhere``."""
    at: int
    frame: int
    """Distance of what the frame's register points to."""
    pointers: tuple[int, ...]
    """Distances of words that point to the memory."""
    begin: int
    end: int
    """Of the bytes of all elements, from the buffer's address on."""
    elements: tuple[tuple[int, str, int], ...]
    """Offset, kind and size of the basic elements of the first one of the datatype."""


def _use(verb: str, text: str) -> MemoryUse:
    """Return a use as ranks tell it."""
    place, at, frame, _, pointers, bounds, elements = text.split("\n")
    begin, end = map(int, bounds.split())
    triples = [element.split(":") for element in elements.split(";") if element]
    return MemoryUse(
        verb, place, int(at), int(frame), tuple(map(int, pointers.split())), begin, end,
        tuple((int(offset), kind, int(size)) for offset, kind, size in triples),
    )  # fmt: skip


# ---- types


def _target(entry: Any) -> Any:
    """Return what an entry's type is, without names and qualifiers of it; None for void."""
    while entry is not None and "DW_AT_type" in entry.attributes:
        entry = entry.get_DIE_from_attribute("DW_AT_type")
        if entry.tag not in _PASSED:
            return entry
    return None


_PASSED = {"DW_TAG_typedef", *(f"DW_TAG_{word}_type" for word in _NAMELESS)}


def _number(entry: Any, name: str) -> int | None:
    attribute = entry.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else None


def _extents(array: Any) -> list[int | None]:
    """Return how many elements an array has in each dimension."""
    extents: list[int | None] = []
    for child in array.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            count, last = _number(child, "DW_AT_count"), _number(child, "DW_AT_upper_bound")
            extents.append(count if count is not None else None if last is None else last + 1)
    return extents


def _size(kind: Any) -> int | None:
    """Return the bytes of a type; None where they are not known."""
    if kind is None:
        return None
    if kind.tag == "DW_TAG_array_type":
        size = _size(_target(kind))
        for extent in _extents(kind):
            size = None if size is None or extent is None else size * extent
        return size
    return 8 if kind.tag == "DW_TAG_pointer_type" else _number(kind, "DW_AT_byte_size")


def _is_untyped(kind: Any) -> bool:
    """Whether memory of a type may hold anything: void, characters, and what is not known."""
    while kind is not None and kind.tag == "DW_TAG_array_type":
        kind = _target(kind)
    size = _size(kind)
    return not size or (kind.tag == "DW_TAG_base_type" and size == 1)


def _is_element(kind: Any, offset: int, word: str, size: int) -> bool:
    """Whether a basic element of a datatype, of some kind and size, stands in a type at an offset."""
    if kind is None:
        return True
    if kind.tag == "DW_TAG_array_type":
        length = _size(_target(kind))
        return not length or _is_element(_target(kind), offset % length, word, size)
    if kind.tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
        members = [child for child in kind.iter_children() if child.tag in ("DW_TAG_member", "DW_TAG_inheritance")]
        at = [(_target(member), offset - (_number(member, "DW_AT_data_member_location") or 0)) for member in members]
        within = [(inner, rest) for inner, rest in at if rest >= 0 and rest < (_size(inner) or rest + 1)]
        return any(_is_element(inner, rest, word, size) for inner, rest in within)
    if kind.tag == "DW_TAG_base_type":
        return _is_base(kind, offset, word, size)
    return True


def _is_base(kind: Any, offset: int, word: str, size: int) -> bool:
    family, length = _KINDS.get(_number(kind, "DW_AT_encoding") or 0), _size(kind) or 0
    wish = _WORDS.get(word.rstrip("0123456789"), "complex" if word.startswith("complex ") else "")
    if not family or not wish or size == 1:
        return True
    if family == wish:
        return offset == 0 and length == size
    if (family, wish) == ("complex", "float"):  # a part of it
        return offset % size == 0 and length == 2 * size
    return (family, wish) == ("float", "complex") and offset == 0 and size == 2 * length


def _spelled(kind: Any) -> str:
    """Return a type as C writes it, roughly."""
    if kind is None:
        return "void"
    if kind.tag == "DW_TAG_array_type":
        inner = _spelled(_target(kind))
        return inner + "".join("[]" if extent is None else f"[{extent}]" for extent in _extents(kind))
    if kind.tag == "DW_TAG_pointer_type":
        return f"{_spelled(_target(kind))} *"
    name = kind.attributes.get("DW_AT_name")
    words = {"DW_TAG_structure_type": "struct ", "DW_TAG_union_type": "union ", "DW_TAG_enumeration_type": "enum "}
    return words.get(kind.tag, "") + (name.value.decode("utf-8", "replace") if name else "without a name")


# ---- what a file says


@dataclass(frozen=True)
class Variable:
    """One that is in sight of a call, and where: as a use's distance, or in the data of its file."""

    name: str
    kind: Any
    is_data: bool
    at: int


class DebugInformation:
    """Of a file."""

    def __init__(self, information: Any) -> None:
        self._information = information
        frames = information.EH_CFI_entries() if information.has_EH_CFI() else []
        self._frames = [entry for entry in frames if "initial_location" in getattr(entry, "header", ())]

    def _frame_rule(self, code: int) -> tuple[int, int] | None:
        """Return register and distance that give the beginning of the frame at an instruction."""
        for entry in self._frames:
            begin = entry.header["initial_location"]
            if begin <= code < begin + entry.header["address_range"]:
                rows = [row for row in entry.get_decoded().table if row["pc"] <= code]
                rule = rows[-1]["cfa"] if rows else None
                return None if rule is None or rule.reg is None else (rule.reg, rule.offset)
        return None

    def _unit(self, code: int) -> Any:
        ranges = self._information.get_aranges()
        offset = ranges.cu_offset_at_addr(code) if ranges is not None else None
        if offset is not None:
            return self._information.get_CU_at(offset)
        return next((unit for unit in self._information.iter_CUs() if self._holds(unit.get_top_DIE(), code)), None)

    def _holds(self, entry: Any, code: int) -> bool:
        """Whether an instruction is of an entry."""
        low, high = _number(entry, "DW_AT_low_pc"), entry.attributes.get("DW_AT_high_pc")
        if low is None or high is None:
            return False
        return low <= code < int(high.value if high.form == "DW_FORM_addr" else low + high.value)

    def _operation(self, entry: Any, name: str) -> tuple[str, int] | None:
        """Return the only operation of an attribute's expression, and its argument."""
        from elftools.dwarf.dwarf_expr import DWARFExprParser

        attribute = entry.attributes.get(name)
        if attribute is None or attribute.form != "DW_FORM_exprloc":
            return None
        operations = DWARFExprParser(entry.cu.structs).parse_expr(attribute.value)
        if len(operations) != 1:
            return None
        return operations[0].op_name, operations[0].args[0] if operations[0].args else 0

    def variables(self, code: int, use: MemoryUse) -> Iterator[Variable]:
        """Return variables in sight of an instruction that have one place."""
        unit = self._unit(code)
        if unit is None or _number(unit.get_top_DIE(), "DW_AT_language") not in _LANGUAGES:
            return
        rule = self._frame_rule(code)
        begin = {_STACK: 0, _FRAME: use.frame}.get(rule[0]) if rule is not None else None
        frame = None if rule is None or begin is None else begin + rule[1]
        for entry in unit.get_top_DIE().iter_children():
            if entry.tag == "DW_TAG_variable":
                yield from self._variable(entry, None)
            elif entry.tag == "DW_TAG_subprogram" and self._holds(entry, code):
                base = self._operation(entry, "DW_AT_frame_base")
                bases = {"DW_OP_call_frame_cfa": frame, f"DW_OP_reg{_FRAME}": use.frame, f"DW_OP_reg{_STACK}": 0}
                yield from self._inner(entry, code, bases.get(base[0]) if base is not None else None)

    def _inner(self, entry: Any, code: int, base: int | None) -> Iterator[Variable]:
        for child in entry.iter_children():
            if child.tag in ("DW_TAG_variable", "DW_TAG_formal_parameter"):
                yield from self._variable(child, base)
            elif child.tag in ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine") and self._holds(child, code):
                yield from self._inner(child, code, base)

    def _variable(self, entry: Any, base: int | None) -> Iterator[Variable]:
        place = self._operation(entry, "DW_AT_location")
        source = entry
        while "DW_AT_name" not in source.attributes:
            origin = next((name for name in _ORIGINS if name in source.attributes), "")
            if not origin:
                return
            source = source.get_DIE_from_attribute(origin)
        if place is None or "DW_AT_type" not in source.attributes:
            return
        name = source.attributes["DW_AT_name"].value.decode("utf-8", "replace")
        if place[0] == "DW_OP_addr":
            yield Variable(name, _target(source), True, place[1])
        elif place[0] == "DW_OP_fbreg" and base is not None:
            yield Variable(name, _target(source), False, base + place[1])


@cache
def _information(file: str) -> DebugInformation | None:
    """Return the debug information of a file; None where there is none, or nothing that reads it."""
    try:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile
    except ImportError:
        return None
    try:
        elf = ELFFile.load_from_path(file)
        is_readable = elf.get_machine_arch() == "x64" and elf.has_dwarf_info(strict=True)
        return DebugInformation(elf.get_dwarf_info()) if is_readable else None
    except (ELFError, OSError):
        return None


# ---- what is wrong


def _wrong_element(use: MemoryUse, kind: Any, offset: int) -> tuple[str, int] | None:
    """Return kind and offset of the first element that is not of the memory's type."""
    if _is_untyped(kind):
        return None
    length = _size(kind) or 1
    for at, word, size in use.elements:
        if not _is_element(kind, (offset + at) % length, word, size):
            return word, at
    return None


def _overrun(use: MemoryUse, variable: Variable) -> tuple[str, str] | None:
    size = _size(variable.kind)
    first = use.at - variable.at + use.begin
    if size is None or (first >= 0 and use.at - variable.at + use.end <= size):
        return None
    place = f"from byte {first} of" if first else "of"
    bytes_of = f"{use.end - use.begin} bytes {place} {variable.name}"
    return OVERRUN, f"the call {use.verb} {bytes_of}, which has {size} ({_spelled(variable.kind)})"


@cache
def _misuse(file: str, code: int, verb: str, text: str) -> tuple[str, str] | None:
    """Return kind and sentence of what is wrong with a use."""
    information = _information(file)
    if information is None:
        return None
    use = _use(verb, text)
    variables = [*information.variables(code, use)]
    holders = [
        variable for variable in variables
        if use.place == ("data" if variable.is_data else "stack")
        and variable.at <= use.at < variable.at + (_size(variable.kind) or 0)
    ]  # fmt: skip
    overruns = [_overrun(use, variable) for variable in holders]
    if overruns and all(overruns):
        return overruns[0]
    pointers = [
        (_target(variable.kind), 0, f"where {variable.name} points to") for variable in variables
        if not variable.is_data and variable.at in use.pointers
        and variable.kind is not None and variable.kind.tag == "DW_TAG_pointer_type"
    ]  # fmt: skip
    places = [(variable.kind, use.at - variable.at, variable.name) for variable in holders] or pointers
    wrong = [_wrong_element(use, kind, offset) for kind, offset, _ in places]
    if not wrong or not all(wrong) or wrong[0] is None:
        return None
    (kind, _, name), (word, at) = places[0], wrong[0]
    return TYPE, f"the call {use.verb} {word}{f' at byte {at}' if at else ''} {name}, which is {_spelled(kind)}"


def unread(uses: Sequence[tuple[str, str, tuple[int, ...], int, list[list[str]]]]) -> list[str]:
    """Return a note where uses of memory cannot be checked, as nothing here reads debug information.

    >>> unread([])
    []
    """
    is_compiled = any("@" in sites[0][3] for _, _, _, _, sites in uses if sites)
    if not is_compiled or find_spec("elftools") is not None:
        return []
    return ["variables of the program are not checked, for want of pyelftools: pip install 'commmodel[variables]'"]


def misuses(
    uses: Sequence[tuple[str, str, tuple[int, ...], int, list[list[str]]]], call_of: Callable[[Sequence[str]], str]
) -> list[Finding]:
    """Return what is wrong with the uses of memory that ranks tell; nothing without debug information or pyelftools."""
    findings: dict[tuple[str, str, str], set[int]] = {}
    for verb, text, ranks, _, sites in uses:
        if not sites:
            continue
        _, file, _, function, _ = sites[0]
        _, _, address = function.rpartition("@")
        wrong = _misuse(file, int(address, 16), verb, text) if address else None
        if wrong is not None:
            findings.setdefault((*wrong, call_of(sites[0])), set()).update(ranks)
    return [
        Finding(kind, sentence, tuple(sorted(ranks)), (call,), len(ranks))
        for (kind, sentence, call), ranks in findings.items()
    ]
