"""Recordings: where a program's communication time goes."""
