"""The algorithms of collective operations, a module per operation; every module here is loaded with the package."""

from importlib import import_module
from pathlib import Path

for _file in sorted(Path(__file__).parent.glob("[!_]*.py")):
    import_module(f"{__name__}.{_file.stem}")
