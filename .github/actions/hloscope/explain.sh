#!/usr/bin/env bash
# Analyses here, or has a server do it; annotates, sums up, and fails as the inputs say.
# All inputs come as variables of the environment: none is ever part of a script.
set -euo pipefail

out=$RUNNER_TEMP/hloscope-report
mkdir -p -m 700 "$out"
said=(--fail-on "$FAIL_ON" --root "$ROOT"
    --sarif "$out/hloscope.sarif" --markdown "$out/summary.md" --github "$out/annotations")
[ -z "$LOG" ] || said+=(--log "$LOG")
[ -z "$FLAGS" ] || said+=("--flags=$FLAGS")
[ -z "$RELEASE" ] || said+=(--release "$RELEASE")
[ -z "$DUMP" ] || said+=("$DUMP")

code=0
if [ -z "$SERVER" ]; then
    hloscope analyze "${said[@]}" || code=$?
else
    # The copy made for others: the log of a job may be public. What revokes it stays off the
    # working folder, which later steps may publish.
    said+=(--server "$SERVER" --share --json "$out/upload.json")
    said+=(--commit "$COMMIT" --run-url "$RUN_URL")
    [ -z "$LABEL" ] || said+=("--label=$LABEL")
    HLOSCOPE_UPLOAD_TOKEN=$TOKEN hloscope upload "${said[@]}" >"$out/url" || code=$?
fi

[ ! -s "$out/annotations" ] || cat "$out/annotations"
[ ! -s "$out/summary.md" ] || cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
# A server that was not told its own address puts none into what it writes.
if [ -s "$out/url" ] && ! grep -qsF "<$(head -n 1 "$out/url")>" "$GITHUB_STEP_SUMMARY"; then
    printf '\n<%s>\n' "$(head -n 1 "$out/url")" >>"$GITHUB_STEP_SUMMARY"
fi
{
    [ ! -s "$out/hloscope.sarif" ] || echo "sarif=$out/hloscope.sarif"
    [ ! -s "$out/summary.md" ] || echo "summary=$out/summary.md"
    [ ! -s "$out/url" ] || echo "url=$(head -n 1 "$out/url")"
} >>"$GITHUB_OUTPUT"
exit "$code"
