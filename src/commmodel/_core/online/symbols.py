"""Generate all symbols of an MPI library from functions.h, so that any program can be linked with ours.

A function that a program calls notes its name, refuses null pointers and calls what does the work, which has the name
with a prefix wherever it is written: a header renames it. That is weak here: what is written by hand replaces it. A
function whose form with large counts exists calls that one; the others name themselves and end the simulation. Main
entry: `generate`, for setup.py; imports nothing of commmodel.
"""

import re
from dataclasses import dataclass

_DECLARATION = re.compile(r"^\s*((?:\w+[ *]+)+?)\s*(MPIX?_\w+)\(([^()]*)\)", re.MULTILINE)
_PARAMETER = re.compile(r"(?P<type>.*?[\s*])(?P<name>\w+)\s*(?P<array>(?:\[\w*\])*)", re.DOTALL)
_BY_HAND = {"MPI_Pcontrol"}
"""With a variable number of arguments."""
_CONVERSION = re.compile(r"MPI_\w+_(c2f|f2c|fromint|toint)")
_LENGTHS = {
    "array_of_blocklengths": "count", "array_of_displacements": "count", "array_of_sizes": "ndims",
    "array_of_subsizes": "ndims", "array_of_starts": "ndims", "array_of_gsizes": "ndims",
}  # fmt: skip
"""Of arrays that make datatypes: parameter -> the one with its length."""
_SAME = {
    "MPI_Address": "MPI_Get_address", "MPI_Attr_delete": "MPI_Comm_delete_attr", "MPI_Attr_get": "MPI_Comm_get_attr",
    "MPI_Attr_put": "MPI_Comm_set_attr", "MPI_Errhandler_create": "MPI_Comm_create_errhandler",
    "MPI_Errhandler_get": "MPI_Comm_get_errhandler", "MPI_Errhandler_set": "MPI_Comm_set_errhandler",
    "MPI_File_fromint": "MPI_File_f2c", "MPI_File_toint": "MPI_File_c2f", "MPI_Keyval_create": "MPI_Comm_create_keyval",
    "MPI_Keyval_free": "MPI_Comm_free_keyval", "MPI_Type_get_extent_x": "MPI_Type_get_extent_c",
    "MPI_Type_get_true_extent_x": "MPI_Type_get_true_extent_c", "MPI_Type_hindexed": "MPI_Type_create_hindexed",
    "MPI_Type_hvector": "MPI_Type_create_hvector", "MPI_Type_size_x": "MPI_Type_size_c",
    "MPI_Type_struct": "MPI_Type_create_struct",
}  # fmt: skip
"""Other names of functions with the same arguments, most of which MPI-3 has removed."""


_PREFIX = "simulated_"
_NULLABLE = {
    "argc", "argv", "provided", "value", "pset_name", "array_of_errcodes", "errcodes", "command", "array_of_commands",
    "array_of_argv", "array_of_maxprocs", "array_of_info",
}  # fmt: skip
"""Parameters that may be null pointers, on some ranks."""
_OF_ROOT = {("MPI_Comm_accept", "port_name"), ("MPI_Comm_connect", "port_name")}
"""Function and parameter that may be one on all ranks but the root."""
_POINTERS = {("MPI_Alloc_mem", "baseptr"), ("MPI_Win_allocate", "baseptr"), ("MPI_Win_allocate_shared", "baseptr"),
             ("MPI_Comm_get_attr", "attribute_val"), ("MPI_Type_get_attr", "attribute_val"),
             ("MPI_Win_get_attr", "attribute_val")}  # fmt: skip
"""Function and parameter to which it writes, among those without a type."""
_COUNTED = {"array_of_requests": ("count", "incount"), "array_of_statuses": ("count", "incount"),
            "ranks": ("n",), "ranks1": ("n",), "ranks2": ("n",)}  # fmt: skip
"""Array -> parameters that may have its length."""


@dataclass(frozen=True)
class Argument:
    """A parameter of a function: type without array brackets, name, brackets."""

    type: str
    name: str
    array: str

    @property
    def is_array(self) -> bool:
        """Whether it points to one or more values."""
        return bool(self.array) or self.type.endswith("*")

    @property
    def base(self) -> str:
        """The type of a value."""
        return self.type.replace("const ", "").replace("*", "").strip()


@dataclass(frozen=True)
class Declaration:
    """A function of MPI."""

    result: str
    name: str
    parameters: tuple[Argument, ...]

    def declaration(self, name: str) -> str:
        """Return its declaration under a name."""
        parameters = ", ".join(f"{item.type} {item.name}{item.array}" for item in self.parameters)
        return f"{self.result} {name}({parameters or 'void'})"

    def call(self, name: str) -> str:
        """Return a call of the function of that name with the same arguments."""
        return f"{name}({', '.join(item.name for item in self.parameters)})"


def functions(header: str) -> dict[str, Declaration]:
    """Return the functions that a header declares by name."""
    listed = {}
    for match in _DECLARATION.finditer(header):
        result, name, text = match[1].strip(), match[2], " ".join(match[3].split())
        if name in _BY_HAND or result.startswith(("typedef", "return")):
            continue
        parts = [] if text in {"", "void"} else text.split(",")
        parameters = []
        for number, part in enumerate(parts):
            parsed = _PARAMETER.fullmatch(part.strip())
            if parsed is None or parsed["name"] in {"int", "void"} or not parsed["type"].strip():
                parameters.append(Argument(part.strip(), f"argument_{number}", ""))
            else:
                parameters.append(Argument(parsed["type"].strip(), parsed["name"], parsed["array"]))
        listed[name] = Declaration(result, name, tuple(parameters))
    return listed


_COLLECTIVE = re.compile(
    r"MPI_(?P<later>I)?(?P<verb>(neighbor_)?(barrier|bcast|(all)?gatherv?|scatterv?|alltoall[vw]?|(all)?reduce"
    r"(_scatter(_block)?)?|scan|exscan))(?P<init>_init)?(?P<wide>_c)?",
    re.IGNORECASE,
)
_FIELDS = {
    **{name: name for name in ("sendbuf", "recvbuf", "sendcount", "recvcount", "sendtype", "recvtype", "sendcounts",
                               "recvcounts", "sendtypes", "recvtypes", "sdispls", "rdispls", "root", "op", "comm")},
    "buffer": "recvbuf", "count": "recvcount", "datatype": "recvtype",
}  # fmt: skip
"""Parameter of a collective -> field of its arguments."""


def _collective(function: Declaration, listed: dict[str, Declaration]) -> str | None:
    """Return the body of a collective, None where it is none or has a form with large counts."""
    match = _COLLECTIVE.fullmatch(function.name)
    if match is None or f"{function.name}_c" in listed:
        return None
    verb = match["verb"].upper()
    fields = [f'.name = "{function.name.removesuffix("_c")}"', f".verb = {verb}"]
    for parameter in function.parameters:
        field = _FIELDS.get(parameter.name)
        if parameter.name == "displs":
            field = "sdispls" if verb == "SCATTERV" else "rdispls"
        if field is not None:
            fields.append(f".{field} = {parameter.name}")
    begin = "prepare_collective" if match["init"] else "begin_collective" if match["later"] else "call_collective"
    rest = ", request" if begin != "call_collective" else ""
    return f"    struct arguments arguments = {{{', '.join(fields)}}};\n    return {begin}(&arguments{rest});\n"


def generate(header: str) -> dict[str, str]:
    """Return the C source of all symbols, and the header that renames functions in all sources; file -> content."""
    listed = functions(header)
    renamed = [function for function in listed.values() if not _CONVERSION.fullmatch(function.name)]
    names = ["#pragma once", "#define _GNU_SOURCE", '#include "online/mpi.h"']
    names += [f"{function.declaration(_PREFIX + function.name)};" for function in renamed]
    names += [f"#undef {function.name}\n#define {function.name} {_PREFIX}{function.name}" for function in renamed]
    rooms = ("collectives/collectives", "objects/errors", "runtime/calls", "world/small_counts")
    lines = [f'#include "online/{name}.h"' for name in rooms]
    lines += [f"#undef {name}" for name in listed if _CONVERSION.fullmatch(name)]  # some are macros too
    for function in listed.values():
        lines.append(f"WEAK {function.declaration(function.name)} {{\n{_body(function, listed)}}}\n")
    lines += [f"#undef {name}\n#undef P{name}" for name in listed]
    for function in renamed:
        work = f"{_refusals(function)}    return {function.call(_PREFIX + function.name)};\n"
        lines.append(f"EXPORT {function.declaration(function.name)} {{\n{work}}}\n")
    for function in listed.values():
        name = f"P{function.name}"
        lines.append(f"EXPORT {function.declaration(name)} {{\n    return {function.call(function.name)};\n}}\n")
    return {"symbols.c": "\n".join(lines), "functions.h": "\n".join([*names, ""])}


def _refusals(function: Declaration) -> str:
    """Return the statements that note a function's name and refuse null pointers."""
    if function.result != "int" or function.name.startswith(("MPI_T_", "MPIX_", "MPI_File_")):
        return ""
    names = {item.name for item in function.parameters}
    lines = [f'    program_call = "{function.name.removesuffix("_c")}";']
    has_handler = any((item.type, item.name) == ("MPI_Errhandler", "errhandler") for item in function.parameters)
    refusal = "refuse_null_by(errhandler, " if has_handler and "_from_group" in function.name else "refuse_null("
    for item in function.parameters:
        is_written = item.type.endswith("*") and not item.array and "function" not in item.type
        is_untyped = item.base == "void" and (function.name.removesuffix("_c"), item.name) not in _POINTERS
        is_nullable = item.name in _NULLABLE or (function.name, item.name) in _OF_ROOT
        count = next((name for name in _COUNTED.get(item.name, ()) if name in names), None)
        if count is not None:
            lines.append(f'    if ({item.name} == NULL && {count} > 0) return {refusal}"{item.name}");')
        elif is_written and not is_untyped and not is_nullable:
            lines.append(f'    if ({item.name} == NULL) return {refusal}"{item.name}");')
    return "".join(f"{line}\n" for line in lines)


def _body(function: Declaration, listed: dict[str, Declaration]) -> str:
    wide = listed.get(f"{function.name}_c")
    if function.name in _SAME:
        return f"    return {function.call(_SAME[function.name])};\n"
    if _CONVERSION.fullmatch(function.name) and "File" not in function.name and "Status" not in function.name:
        return f"    return ({function.result}){function.parameters[0].name};\n"
    collective = _collective(function, listed)
    if collective is not None:
        return collective
    if wide is None or len(wide.parameters) != len(function.parameters) or "function" in str(wide.parameters):
        return f'    missing("{function.name}");\n'
    before, after, arguments = [], [], []
    for narrow, large in zip(function.parameters, wide.parameters, strict=True):
        if narrow.base == large.base or not narrow.is_array:
            arguments.append(narrow.name)
        elif narrow.base == "MPI_Aint" and narrow.type.startswith("const"):  # as wide already
            arguments.append(f"(const {large.base} *){narrow.name}")
        elif narrow.type.startswith("const"):
            before.append(_widened(function, narrow, large))
            after.append(f"free(wide_{narrow.name});")
            arguments.append(f"wide_{narrow.name}")
        else:
            before.append(f"{large.base} wide_{narrow.name} = {narrow.name} != NULL ? *{narrow.name} : 0;")
            after.append(
                f"if (code == MPI_SUCCESS && {narrow.name} != NULL) *{narrow.name} = narrowed(wide_{narrow.name});"
            )
            arguments.append(f"&wide_{narrow.name}")
    call = f"int code = {wide.name}({', '.join(arguments)});"
    return "".join(f"    {line}\n" for line in [*before, call, *after, "return code;"])


def _widened(function: Declaration, narrow: Argument, large: Argument) -> str:
    """Return the statement that copies an array into wider numbers."""
    names = {item.name for item in function.parameters}
    if narrow.name in _LENGTHS:
        length = _LENGTHS[narrow.name]
    elif "eighbor" in function.name:
        length = f"{'out' if narrow.name.startswith('s') else 'in'}_degree_of(comm)"
    elif "root" in names:
        length = "peers_at_root(comm, root)"
    elif "educe_scatter" in function.name:
        length = "size_of_communicator(comm)"
    else:
        length = "peers_of(comm)"
    kind = "displacements" if large.base == "MPI_Aint" else "counts"
    return f"{large.base} *wide_{narrow.name} = widened_{kind}({narrow.name}, {length});"
