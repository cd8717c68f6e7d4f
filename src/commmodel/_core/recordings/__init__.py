"""Recordings of programs: decoding logs, and sums and waits over the calls of all ranks."""
