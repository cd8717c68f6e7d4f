"""What every engine shares: operations, matching, requests, event queue, deadlocks; and traces as programs."""
