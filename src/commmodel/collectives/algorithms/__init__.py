"""The algorithms of collective operations, a module per operation; every module here is loaded with the package."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
