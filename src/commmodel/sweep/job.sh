#!/bin/bash
# commmodel: launch @LAUNCH@ of @LAUNCHES@ on @PROCESSES@ processes. Does nothing once it is done; goes on where it was stopped.
cd "$(dirname "$0")/.." || exit 2
name=@NAME@
rm -f "$name.failed"  # before its log
exec >"$name.log" 2>&1
@BODY@
