#!/usr/bin/env bash
# Runs the conformance suite and our test beside it, and prints what each test
# took. All output goes to bin/conformance.log.
#
#   run.sh          everything; the report goes to docs/conformance
#   run.sh -core    what the API calls core; no report
#
# The suite's own flags may follow, such as -run-test=NAME or -debug.
set -euo pipefail
cd "$(dirname "$0")"
log=$PWD/../../bin/conformance.log
mkdir -p "$(dirname "$log")"
arguments=("$@")
report=$PWD/../../docs/conformance/standard-default-report.yaml
if [[ $# -eq 0 ]]; then
  arguments=(-report-output "$report" -version "${VERSION:-v0.0.0-dev}")
fi
begun=$SECONDS
status=0
go test -count=1 -v -timeout 25m -parallel 4 . -args "${arguments[@]}" >"$log" 2>&1 || status=$?
[[ $# -gt 0 || ! -e $report ]] || chmod 644 "$report" # the suite makes it for its owner alone

# Lines such as "    --- PASS: TestConformance/Name (1.23s)", the slowest first.
sed -nE 's/^ {4}--- (PASS|FAIL): TestConformance\/([^ ]+) \(([0-9.]+)s\)$/\3 \1 \2/p' "$log" | sort -rn |
  while read -r took result name; do printf '%8ss  %s  %s\n' "$took" "$result" "$name"; done
grep -E '^--- (PASS|FAIL)' "$log" || true
count() { grep -cE "^ {4}--- $1: TestConformance/" "$log" || true; }
echo "suite: $(count PASS) passed, $(count FAIL) failed; $(count SKIP) are of features that were not asked for; $((SECONDS - begun)) s"
if ((status != 0)); then
  tail -n 40 "$log"
  echo "all output is in $log"
fi
exit "$status"
