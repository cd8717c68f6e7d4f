[ -e "$name.done" ] && exit 0
set -- @BENCH@
if [ -e "$name.jsonl" ] && [ "$(wc -l < "$name.jsonl")" -gt 0 ]; then
    set -- --resume
else
    rm -f "$name.jsonl"  # of a launch that was stopped before its first line was complete
fi
@COMMAND@ "$@" -o "$name.jsonl"
code=$?
case $code in
    0) touch "$name.done" ;;
    130 | 137 | 143) ;;  # stopped
    *) echo "$code" > "$name.failed" ;;
esac
exit "$code"
