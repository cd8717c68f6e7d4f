"""The algorithms of collective operations as schedules of messages: a file for each operation."""
