"""Output files, written completely or not at all, and never over an input.

What is written goes into a file beside the one that is meant, reaches the disk, and then takes that one's name. A full
disk, an interruption or a fault leaves what was there as it was. Only the file of measurements is not written here: it
grows by lines (`commmodel.results.Writer`). Main entries: `open_output`, `write_text`, `write_bytes`, `refuse_inputs`.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from commmodel.errors import DamagedFileError, InputError, MissingPackageError

__all__ = ["open_input", "open_output", "refuse_inputs", "unwritable", "write_bytes", "write_text"]

_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd/")
"""Names that stand for what is open already."""
_COMPRESSIONS = {
    b"\x1f\x8b": ("gzip",), b"BZh": ("bz2",), b"\xfd7zXZ\x00": ("lzma",),
    b"\x28\xb5\x2f\xfd": ("compression.zstd", "backports.zstd"),
}  # fmt: skip
"""First bytes -> Python's module, and the package that does the same for older versions."""
_MENDS = {
    errno.ENOSPC: "make room, or name another place",
    errno.EDQUOT: "make room, or name another place",
    errno.ENAMETOOLONG: "choose a shorter name",
}


@contextmanager
def open_input(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for reading; what is compressed by gzip, bzip2 or xz, as its first bytes tell, is decompressed.

    From Python 3.14 on, or with the package backports.zstd, Zstandard is, too: `MissingPackageError` without.
    `DamagedFileError` where compressed data are damaged or cut off; `OSError` as of `open`.

    >>> import gzip, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = Path(file.name).write_bytes(gzip.compress(b"{}"))
    ...     with open_input(file.name) as content:
    ...         print(content.read())
    b'{}'
    """
    with open(path, "rb") as file:
        magic = file.read(6)
        file.seek(0)
        names = next((names for begin, names in _COMPRESSIONS.items() if magic.startswith(begin)), ())
        if not names:
            yield file
            return
        module = _first_module(names)
        if module is None:
            raise MissingPackageError(
                f"{path}: Zstandard is read from Python 3.14 on: pip install backports.zstd, or decompress it (zstd -d)"
            )
        try:
            with module.open(file) as content:
                yield content
        except Exception as error:
            is_damage = isinstance(error, EOFError | OSError) and getattr(error, "errno", None) is None
            if not is_damage and type(error).__module__.rpartition(".")[2].lstrip("_") not in {"lzma", "zlib", "zstd"}:
                raise
            raise DamagedFileError(
                path, "", f"damaged {names[0].rpartition('.')[2]} data: {error}: make it anew"
            ) from None


def _first_module(names: Iterable[str]) -> Any:
    """Return the first of some modules that is installed, None without any."""
    for name in names:
        with suppress(ModuleNotFoundError):
            return import_module(name)
    return None


def unwritable(path: str | os.PathLike[str], error: OSError) -> InputError:
    """Return the error for a file that the system does not permit to write.

    >>> print(unwritable("m.toml", OSError(errno.ENOSPC, "No space left on device")))
    m.toml: cannot be written: No space left on device: make room, or name another place
    """
    mend = _MENDS.get(error.errno or 0)
    return InputError(f"{path}: cannot be written: {error.strerror or error}{f': {mend}' if mend else ''}")


def refuse_inputs(output: str | os.PathLike[str], inputs: Iterable[str | os.PathLike[str]]) -> None:
    """Raise where an output is one of the inputs, by any name, link or hard link.

    Parameters
    ----------
    output : path
        What is to be written; need not exist.
    inputs : iterable of paths
        What is read. Those that are no files are passed over.

    Raises
    ------
    InputError
        Naming both.

    Examples
    --------
    >>> refuse_inputs("machine.toml", ["results.jsonl"])
    """
    for source in inputs:
        if _are_one_file(output, source):
            note = "" if os.fspath(output) == os.fspath(source) else f" (the same file as {source})"
            raise InputError(f"{output}{note} is read: it cannot be written, too: name another output")


def _are_one_file(first: str | os.PathLike[str], second: str | os.PathLike[str]) -> bool:
    try:
        status, other = os.stat(first), os.stat(second)
    except (OSError, ValueError):  # what is not there is no input; what else is wrong with it is said on opening
        return False
    return stat.S_ISREG(status.st_mode) and os.path.samestat(status, other)


@contextmanager
def open_output(path: str | os.PathLike[str], *, sync: bool = True) -> Iterator[IO[bytes]]:
    """Open a file for writing that replaces the old one in a single step when the block ends without an error.

    A file that is there is replaced and hands on its permissions; a new one has those that the umask leaves. Of a
    symbolic link, what it leads to is replaced. A device, and ``/dev/stdout``, are written as they are.

    Parameters
    ----------
    path : path
        Where to.
    sync : bool
        Whether to wait until it is on the disk; without, a crash of the machine may lose it.

    Raises
    ------
    InputError
        Where it cannot be written. Errors of the block that name another file pass through.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "greeting.txt"
    ...     with open_output(path) as file:
    ...         _ = file.write(b"hello")
    ...     path.read_bytes(), os.listdir(folder)
    (b'hello', ['greeting.txt'])
    """
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".commmodel-{os.urandom(6).hex()}.part")
    with _write_errors(path, target, beside):
        mode = _mode(path)
        if os.fspath(path).startswith(_STREAMS) or (mode is not None and stat.S_ISCHR(mode)):
            with open(path, "wb") as file:
                yield file
            return
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if mode is not None and not stat.S_ISREG(mode):
            raise InputError(f"{path}: no regular file: name another one")
        if mode is not None and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        try:
            with _created(beside, target if mode is not None else None) as file:
                yield file
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            beside.replace(target)
        except BaseException:  # whatever it was, nothing of it stays behind; it is raised again
            with suppress(OSError):
                beside.unlink()
            raise
    if sync:
        _sync_folder(target.parent)


@contextmanager
def _write_errors(path: str | os.PathLike[str], *alternatives: Path) -> Iterator[None]:
    """Turn an OSError about the output into an `InputError`; errors about other files pass."""
    try:
        yield
    except OSError as error:
        if error.filename is not None and os.fspath(error.filename) not in {
            os.fspath(file) for file in (path, *alternatives)
        }:
            raise
        raise unwritable(path, error) from None


def _mode(path: str | os.PathLike[str]) -> int | None:
    """Return the type and permissions of an existing file; None without one."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _created(beside: Path, replaced: Path | None) -> IO[bytes]:
    """Create the temporary file, with the owner and the permissions of the file that it will replace."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    number = os.open(beside, flags, 0o666 if replaced is None else 0o600)
    if replaced is not None:
        before = os.stat(replaced)
        with suppress(OSError):  # another's file in a folder of ours: it becomes ours
            os.fchown(number, before.st_uid, before.st_gid)
        os.fchmod(number, stat.S_IMODE(before.st_mode) & 0o777)
    return os.fdopen(number, "wb")


def _sync_folder(folder: Path) -> None:
    """Sync a folder to disk, where its file system supports it."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def write_bytes(path: str | os.PathLike[str], parts: bytes | Iterable[bytes]) -> None:
    """Write bytes to a file completely or not at all; see `open_output`."""
    with open_output(path) as file:
        file.writelines([parts] if isinstance(parts, bytes) else parts)


def write_text(path: str | os.PathLike[str], text: str, *, executable: bool = False) -> None:
    """Write text as UTF-8, completely or not at all; see `open_output`."""
    with open_output(path) as file:
        file.write(text.encode())
        if executable:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            os.fchmod(file.fileno(), mode | (mode & 0o444) >> 2)
