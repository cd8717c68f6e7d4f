"""The tables and figures of the five papers that commmodel is built on, made again: run `__main__`."""
