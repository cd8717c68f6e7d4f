"""Measurements in ``results.jsonl``: records, reading, writing and merging.

One JSON object a line. A ``header`` describes a launch of the benchmark (machine, MPI library, options); each
``record`` after it holds the raw samples of one configuration. A file may hold several launches, so the files
of several launches are merged with ``cat``. A record is on disk as soon as it is complete; a last line that was
cut off when its writer was killed is left out, and reported, by `load`. Main entries: `load`, `dump` and `Writer`.

What a record measured is a struct of the kernel, in `commmodel.results.configurations`: `configurations.PingPong(1024,
"same-node")`.
"""

from commmodel.lazy import attributes
from commmodel.results import configurations
from commmodel.results.configurations import BenchOptions, Configuration
from commmodel.results.file import Writer, dump, load, load_all, schema
from commmodel.results.launches import launch_count, library_name, whole_launches, without_duplicates
from commmodel.results.oversubscription import is_oversubscribed, oversubscription_warnings
from commmodel.results.parameters import columns, describe, kernel_name, with_labels
from commmodel.results.pooling import pool
from commmodel.results.records import Buffers, Clock, Header, Host, Launch, Library, Measurements, Rank, Record
from commmodel.results.visits import join_visits, visit_samples
from commmodel.results.words import configuration_words, parameter_words

__all__ = [
    "BenchOptions", "Buffers", "Clock", "Configuration", "Header", "Host", "Launch", "Library", "Measurements", "Rank",
    "Record", "Writer", "columns", "configuration_words", "configurations", "describe", "dump", "is_oversubscribed",
    "join_visits", "kernel_name", "launch_count", "library_name", "load", "load_all", "oversubscription_warnings",
    "parameter_words", "pool", "schema", "visit_samples", "whole_launches", "with_labels", "without_duplicates",
]  # fmt: skip
__dir__ = attributes(__name__)[1]
