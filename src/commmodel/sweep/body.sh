[ -e @DONE@ ] && exit 0
set -- @BENCH@
if [ -e @RESULTS@ ] && [ "$(wc -l < @RESULTS@)" -gt 0 ]; then
    set -- --resume
else
    rm -f @RESULTS@  # of a launch that was stopped before its first line was complete
fi
@COMMAND@ "$@" -o @RESULTS@
code=$?
[ "$code" -eq 0 ] && touch @DONE@
exit "$code"
