"""Common parts of all engines: operations, matching, requests, event queue, deadlocks; and traces as programs."""
