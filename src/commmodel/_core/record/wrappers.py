"""Generate the wrappers of recorded calls from the table of calls and the prototypes in mpi.h.

A wrapper calls the library's own function between two readings of the clock and writes the fields of the call. How a
field is computed follows from the names of the call's parameters. Calls in `BY_HAND` are written in C beside this file.
Main entry: `generate`, for setup.py; imports nothing of commmodel.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

BY_HAND = {
    *("Init", "Init_thread", "Finalize", "Abort", "Pcontrol"),
    *("Wait", "Waitall", "Waitany", "Waitsome", "Test", "Testall", "Testany", "Testsome"),
}
"""Calls whose wrappers stand in session.c and completion.c."""
WIDEST = 10
"""Bytes of the longest number in a log."""


class RecordedCall(Protocol):
    """A row of the table of calls."""

    name: str
    code: int
    group: str
    parameters: tuple[str, ...]
    fields: tuple[str, ...]


class Prototype:
    """A function of mpi.h, its parameters named as in the table.

    >>> print(Prototype("MPI_Startall", "int n, MPI_Request list[]", ("given", "requests")).declaration)
    int MPI_Startall(int given, MPI_Request requests[])
    """

    def __init__(self, name: str, text: str, names: Sequence[str]) -> None:
        parts = [part.strip() for part in text.split(",")] if text.strip() not in {"", "void"} else []
        if len(parts) != len(names):
            raise SystemExit(
                f"commmodel: calls.toml: {name} has {len(names)} parameters, in mpi.h {len(parts)}: {text}"
            )
        declared = []
        for part, parameter in zip(parts, names, strict=True):
            match = re.fullmatch(r"(.*?[\s*])(\w+)\s*((?:\[\w*\])*)", part, re.DOTALL)
            if match is None:
                raise SystemExit(f"commmodel: mpi.h: {name}: a parameter without a name: {part}")
            declared.append(f"{match[1]}{parameter}{match[3]}")
        self.name, self.names, self.types = name, tuple(names), declared
        self.declaration = f"int {name}({', '.join(' '.join(type_.split()) for type_ in declared) or 'void'})"


def prototypes(header: str) -> dict[str, str]:
    """Return the parameters of each function in a preprocessed mpi.h."""
    functions = re.finditer(r"\bint\s+(MPI_\w+)\s*\(([^()]*)\)", header)
    return {match[1]: " ".join(match[2].split()) for match in functions}


def generate(calls: Iterable[RecordedCall], fingerprint: int, header: str) -> dict[str, str]:
    """Return the generated files: name -> content.

    Parameters
    ----------
    calls, fingerprint
        The table of calls and its hash.
    header : str
        The preprocessed mpi.h of an MPI library; calls that it lacks get no wrapper.
    """
    declared = prototypes(header)
    functions, members, loads = [], [], []
    for call in calls:
        stem = call.name.removeprefix("MPI_")
        for name in (call.name, f"{call.name}_c"):
            if name not in declared:
                continue
            member = name.removeprefix("MPI_")
            members.append(f"    __typeof__(&{name}) {member};")
            loads.append(f"    LOOK_UP({member});")
            if stem not in BY_HAND:
                plain = Prototype(call.name, declared[call.name], call.parameters)
                large = Prototype(name, declared[name], call.parameters)
                functions.append(_wrapper(call, large, _without_large_counts(plain, large)))
    codes = [f"    CODE_{call.name.removeprefix('MPI_')} = {call.code}," for call in calls]
    notice = "/* Generated from calls.toml and mpi.h by wrappers.py. */\n\n"
    next_h = [
        "#ifndef COMMMODEL_NEXT_H\n#define COMMMODEL_NEXT_H\n\n#include <mpi.h>\n",
        f"#define TABLE_FINGERPRINT 0x{fingerprint:016x}u\n",
        *("enum {", *codes, "};\n"),
        "/* The functions of the MPI library itself. */",
        *("extern struct next {", *members, "} next;\n", "void next_prepare(void);\n\n#endif\n"),
    ]
    wrappers_c = [
        '#include "recorder.h"\n#include "next.h"\n\n#include <dlfcn.h>\n\nstruct next next;\n',
        '#define LOOK_UP(name) *(void **)&next.name = dlsym(RTLD_NEXT, "PMPI_" #name)',
        *("void next_prepare(void) {", *loads, "}\n"),
        *functions,
    ]
    return {"next.h": notice + "\n".join(next_h), "wrappers.c": notice + "\n".join(wrappers_c) + "\n"}


def _without_large_counts(plain: Prototype, large: Prototype) -> list[str]:
    """Return what a function with large counts does where the MPI library that is loaded is older and lacks it."""
    if plain.name == large.name:
        return []
    differing = [name for name, a, b in zip(plain.names, plain.types, large.types, strict=True) if a != b]
    lists = [
        name
        for name, text in zip(large.names, large.types, strict=True)
        if name in differing and set(text) & {"[", "*"}
    ]
    arguments = ", ".join(f"(int){name}" if name in differing else name for name in plain.names)
    fits = " && ".join(f"{name} == (int){name}" for name in differing)
    fallback = f"{fits} ? {plain.name}({arguments}) : MPI_ERR_COUNT"
    lacking = f"UNLIKELY(next.{large.name.removeprefix('MPI_')} == NULL)"
    return [f"if ({lacking}) {{", f"    return {'MPI_ERR_UNSUPPORTED_OPERATION' if lists else fallback};", "}"]


def _wrapper(call: RecordedCall, prototype: Prototype, before: Sequence[str]) -> str:
    """Return the wrapper of one function."""
    writer = _Writer(call, prototype)
    for field in call.fields:
        writer.field(field)
    arguments = ", ".join(writer.arguments.get(name, name) for name in prototype.names)
    function = f"next.{prototype.name.removeprefix('MPI_')}"
    room = " + ".join(writer.room)
    lines = [
        *before,
        f"PASS_ON({function}({', '.join(prototype.names)}));",
        *writer.before,
        "uint64_t begin = ticks();",
        f"int code = {function}({arguments});",
        "uint64_t end = ticks();",
        "uint64_t site = enter_log(__builtin_return_address(0));",
        *(["int ok = code == MPI_SUCCESS;"] if writer.uses_ok() else []),
        *writer.numbers,
        f"unsigned char *p = open_call({call.code}, begin, end, site, {room});",
        *(["if (p != NULL) {", *(f"    {line}" for line in writer.put), "}"] if writer.put else []),
        "close_call(p);",
        "return code;",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"VISIBLE {prototype.declaration} {{\n{body}\n}}\nALSO_PMPI({function.removeprefix('next.')})\n"


class _Writer:
    """The statements that a wrapper needs for its fields."""

    def __init__(self, call: RecordedCall, prototype: Prototype) -> None:
        self.call, self.has, self.declaration = call, set(prototype.names), prototype.declaration
        self.stem = call.name.removeprefix("MPI_").removesuffix("_init").lower()
        self.arguments: dict[str, str] = {}  # parameter -> what the library's function gets instead
        self.before: list[str] = []
        self.numbers: list[str] = []  # with the log locked, before the record is begun
        self.put: list[str] = []
        self.room = [str(WIDEST * (3 + len(call.fields)))]
        self.of = ""  # the expression of the communicator
        if call.group in {"collective", "neighbourhood"}:
            self.numbers.append("const struct communicator *of = communicator_of(comm);")
            self.of = "of"
        if call.group == "collective" and call.name != "MPI_Barrier":
            self._describe_data()
        if call.group in {"point-to-point", "collective", "neighbourhood"} and "op" not in self.has:
            self._describe_content()
        if "status" in self.has:
            self.before += [
                "MPI_Status ignored, *filled = status == MPI_STATUS_IGNORE ? &ignored : status;",
            ]
            self.arguments["status"] = "filled"
        if call.name == "MPI_Comm_set_name":
            self.numbers += ["if (ok) {", "    communicator_renamed(comm);", "}"]

    def _describe_data(self) -> None:
        """Say what an element of the data is, how it is combined and whether it is in place."""
        flags = []
        if "datatype" in self.has:
            datatype = "datatype"
        elif {"sendtype", "recvtype"} <= self.has:
            placed, pair = ("recv", "sendtype : recvtype") if self._is("scatter") else ("send", "recvtype : sendtype")
            datatype = f"{placed}buf == MPI_IN_PLACE ? {pair}"
            flags.append(f"({placed}buf == MPI_IN_PLACE ? IN_PLACE : 0u)")
        else:
            return
        if "op" in self.has:
            flags.append("operation_flags(op)")
        described = f"log_data(size_of({datatype}), {' | '.join(flags) or '0'});"
        self.numbers += ["if (ok) {", f"    {described}", "}"]

    def _describe_content(self) -> None:
        """Say how the data lie that this rank gives, or where it only receives, the room for them."""
        caller = "__builtin_return_address(0)"
        if "sendtypes" in self.has:
            peers = "of->destinations" if self.call.group == "neighbourhood" else "of->peers"
            in_place = "" if self.call.group == "neighbourhood" else " && sendbuf != MPI_IN_PLACE"
            self.numbers += [
                "uint64_t content = 0;",
                f"for (int i = 0; ok{in_place} && content == 0 && i < {peers}; i++) {{",
                "    content = content_of(sendbuf, sendcounts[i], sendtypes[i], NULL);",
                "}",
                "if (ok) {",
                "    log_content(content);",
                "}",
            ]
            return
        if "sendtype" in self.has:
            count = "sendcounts[0]" if "sendcounts" in self.has else "sendcount"
            content = f"content_of(sendbuf, {count}, sendtype, {caller})"
            if self.call.group == "collective":
                sends = "sendbuf != MPI_IN_PLACE"
                if "root" in self.has:
                    sends = "is_root(of, root)" if self._is("scatter") else f"takes_part(of, root) && {sends}"
                content = f"{sends} ? {content} : 0"
        elif {"buf", "datatype"} <= self.has:
            receives = {"source", "message"} & self.has and "dest" not in self.has
            content = f"content_of(buf, count, datatype, {'NULL' if receives else caller})"
        else:
            return
        self.numbers += ["if (ok) {", f"    log_content({content});", "}"]

    def uses_ok(self) -> bool:
        """Tell whether a statement asks for success."""
        return any(re.search(r"\bok\b", line) for line in [*self.numbers, *self.put])

    def unsigned(self, expression: str) -> None:
        """Put an unsigned number."""
        self.put.append(f"p = put_unsigned(p, {expression});")

    def signed(self, expression: str) -> None:
        """Put a signed number."""
        self.put.append(f"p = put_signed(p, {expression});")

    def field(self, field: str) -> None:
        """Add what one field needs."""
        getattr(self, f"_{field}")()

    def _communicator(self) -> None:
        if self.of:
            self.unsigned("of->id")
        elif "freed_comm" in self.has:
            self.before += [
                "MPI_Comm freed = *freed_comm;",
                *_locked("uint64_t communicator = communicator_taken(freed);"),
            ]
            self.numbers += ["if (!ok) {", "    communicator_kept(freed, communicator);", "}"]
            self.unsigned("communicator")
        else:
            self.numbers.append("uint64_t communicator = ok ? communicator_of(comm)->id : 0;")
            self.unsigned("communicator")

    def _new_communicator(self) -> None:
        parent = "comm" if "comm" in self.has else "MPI_COMM_NULL"
        copied = int("dup" in self.stem)
        self.numbers.append(f"uint64_t made = ok ? communicator_made(*newcomm, {parent}, {copied}) : 0;")
        self.unsigned("made")

    def _peer(self) -> None:
        self.signed(f"peer_number({'dest' if 'dest' in self.has else 'source'})")

    def _tag(self) -> None:
        self.signed(f"tag_number({'sendtag' if 'sendtag' in self.has else 'tag'})")

    def _receive_peer(self) -> None:
        self.signed("peer_number(source)")

    def _receive_tag(self) -> None:
        self.signed("tag_number(recvtag)")

    def _root(self) -> None:
        self.signed("peer_number(root)")

    def _bytes(self) -> None:
        self.numbers.append(f"uint64_t bytes = ok ? {self._volume()} : 0;")
        self.unsigned("bytes")

    def _volume(self) -> str:
        """Return the expression of what this rank gives, or of a receive, the room."""
        if "partitions" in self.has:
            return "(uint64_t)partitions * volume(count, datatype)"
        if "sendcount" not in self.has:
            size = "volume(count, datatype)" if "count" in self.has else "size_of(datatype)"
            return f"of->inter && root == MPI_PROC_NULL ? 0 : {size}" if "root" in self.has else size
        sent = "volume(sendcount, sendtype)"
        if self.call.group != "collective":
            return sent
        received = (
            "volume(recvcounts[of->rank], recvtype)" if "recvcounts" in self.has else "volume(recvcount, recvtype)"
        )
        if self._is("scatter"):
            return f"is_root(of, root) ? {sent} : 0"
        sent = f"sendbuf == MPI_IN_PLACE ? {received} : {sent}"
        return f"!takes_part(of, root) ? 0 : {sent}" if "root" in self.has else sent

    def _is(self, *operations: str) -> bool:
        return self.stem.removeprefix("i").removesuffix("v") in operations

    def _room(self) -> None:
        room = "volume(recvcount, recvtype)"
        if self._is("gather"):
            room = f"is_root(of, root) ? {room} : 0"
        elif self._is("scatter"):
            sent = (
                "volume(sendcounts[of->rank], sendtype)" if "sendcounts" in self.has else "volume(sendcount, sendtype)"
            )
            room = f"!takes_part(of, root) ? 0 : recvbuf == MPI_IN_PLACE ? {sent} : {room}"
        self.numbers.append(f"uint64_t room = ok ? {room} : 0;")
        self.unsigned("room")

    def _counts(self, way: str, number: str) -> None:
        """Put a number of bytes for each process."""
        array, datatype = f"{way}counts", f"{way}type"
        if "datatype" in self.has:
            datatype = "datatype"
        types = f"{way}types" in self.has
        if way == "send" and "recvcounts" in self.has and self.call.group == "collective":  # of v- and w-alltoall
            element = "(sendbuf == MPI_IN_PLACE ? volume(recvcounts[i], {}) : volume(sendcounts[i], {}))".format(
                *(("recvtypes[i]", "sendtypes[i]") if types else ("recvtype", "sendtype"))
            )
        else:
            element = f"volume({array}[i], {f'{datatype}s[i]' if types else datatype})"
        counter = f"{way}_number"
        self.numbers.append(f"int {counter} = ok ? {number} : 0;")
        self.room.append(f"{WIDEST} * (size_t){counter}")
        self.put += [
            f"p = put_unsigned(p, (uint64_t){counter});",
            f"for (int i = 0; i < {counter}; i++) {{",
            f"    p = put_unsigned(p, {element});",
            "}",
        ]

    def _sent_counts(self) -> None:
        if self.call.group == "neighbourhood":
            self._counts("send", "of->destinations")
        else:
            self._counts("send", "is_root(of, root) ? of->peers : 0" if "root" in self.has else "of->peers")

    def _received_counts(self) -> None:
        if self.call.group == "neighbourhood":
            self._counts("recv", "of->sources")
        elif self._is("reduce_scatter"):
            self._counts("recv", "of->size")
        else:
            self._counts("recv", "is_root(of, root) ? of->peers : 0" if "root" in self.has else "of->peers")

    def _operation(self) -> None:
        self.unsigned("operation_number(op)")

    def _request(self) -> None:
        flags = []
        if self.stem in {"irecv", "imrecv", "recv", "precv", "isendrecv", "isendrecv_replace"}:
            flags.append("RECEIVE")
        flags.append("PERSISTENT" if self.call.name.endswith("_init") else "ACTIVE")
        self.numbers.append(f"uint64_t serial = ok ? request_made(*request, {' | '.join(flags)}) : 0;")
        self.unsigned("serial")

    def _requests(self) -> None:
        if "requests" in self.has:  # MPI_Startall: handles stay as they are
            self.numbers += [
                "int number = ok && given > 0 ? given : 0;",
                "for (int i = 0; i < number; i++) {",
                "    request_started(requests[i]);",
                "}",
            ]
            self.room.append(f"{WIDEST} * (size_t)number")
            self.put += [
                "p = put_unsigned(p, (uint64_t)number);",
                "for (int i = 0; i < number; i++) {",
                "    p = put_unsigned(p, request_of(requests[i]));",
                "}",
            ]
            return
        handle = "*request" if "*request" in self.declaration else "request"
        if self.stem == "request_free":
            self.before += _locked(f"uint64_t serial = request_taken({handle}).serial;")
        else:
            self.before += _locked(f"uint64_t serial = request_of({handle});")
        if self.stem == "start":
            self.numbers += ["if (ok) {", "    request_started(*request);", "}"]
        self.put.append("p = put_unsigned(put_unsigned(p, 1), serial);")

    def _flag(self) -> None:
        self.unsigned("ok && *flag")

    def _source(self) -> None:
        """Put the source, and with it what follows: tag and bytes received."""
        valid = "ok && *flag" if "flag" in self.has else "ok"
        self.put.append(f"p = put_status(p, {valid} ? filled : NULL);")

    def _received_tag(self) -> None:
        """Stands in the status already."""

    _received_bytes = _received_tag

    def _message(self) -> None:
        if self.call.group == "probe":
            valid = "ok && *flag" if "flag" in self.has else "ok"
            self.numbers.append(f"uint64_t matched = {valid} ? message_made(*message) : 0;")
        else:
            self.before += _locked("uint64_t matched = message_taken(*message);")
        self.unsigned("matched")

    def _window(self) -> None:
        if "newwin" in self.has:
            size = "(uint64_t)size, (uint64_t)displacement_unit" if "size" in self.has else "0, 1"
            self.numbers.append(f"uint64_t window = ok ? window_made(*newwin, communicator, {size}) : 0;")
        elif "freed_win" in self.has:
            self.before += ["MPI_Win freed = *freed_win;", *_locked("uint64_t window = window_taken(freed);")]
            self.numbers += ["if (!ok) {", "    window_kept(freed, window);", "}"]
        else:
            self.numbers.append("uint64_t window = window_of(win);")
        self.unsigned("window")

    def _target(self) -> None:
        self.signed("peer_number(target)")


def _locked(statement: str) -> list[str]:
    return ["lock_log();", statement, "unlock_log();"]
