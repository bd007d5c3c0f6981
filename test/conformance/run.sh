#!/usr/bin/env bash
# Runs the conformance suite and our test beside it, and prints what each test
# took. All output goes to bin/conformance.log.
#
#   run.sh          everything; the report goes to docs/conformance
#   run.sh -core    what the API calls core; no report
#   run.sh aws      with the provider aws, over an emulated account; the report too
#
# The suite's own flags may follow, such as -run-test=NAME or -debug.
set -euo pipefail
cd "$(dirname "$0")"
log=$PWD/../../bin/conformance.log
mkdir -p "$(dirname "$log")"
report=$PWD/../../docs/conformance/standard-default-report.yaml
which=(-skip 'AWS$') suite=TestConformance
if [[ ${1:-} == aws ]]; then
  shift
  report=$PWD/../../docs/conformance/aws-standard-default-report.yaml
  which=(-run 'AWS$') suite=TestConformanceAWS
fi
arguments=("$@")
if [[ $# -eq 0 ]]; then
  arguments=(-report-output "$report" -version "${VERSION:-v0.0.0-dev}")
  [[ $suite == TestConformance ]] || arguments+=(-update-aws)
fi
begun=$SECONDS
status=0
go test -count=1 -v -timeout 25m -parallel 4 "${which[@]}" . -args "${arguments[@]}" >"$log" 2>&1 || status=$?
[[ $# -gt 0 || ! -e $report ]] || chmod 644 "$report" # the suite makes it for its owner alone

# Lines such as "    --- PASS: TestConformance/Name (1.23s)", the slowest first.
sed -nE 's/^ {4}--- (PASS|FAIL): '$suite'\/([^ ]+) \(([0-9.]+)s\)$/\3 \1 \2/p' "$log" | sort -rn |
  while read -r took result name; do printf '%8ss  %s  %s\n' "$took" "$result" "$name"; done
grep -E '^--- (PASS|FAIL)' "$log" || true
count() { grep -cE "^ {4}--- $1: $suite/" "$log" || true; }
echo "suite: $(count PASS) passed, $(count FAIL) failed; $(count SKIP) are of features that were not asked for; $((SECONDS - begun)) s"
if ((status != 0)); then
  tail -n 40 "$log"
  echo "all output is in $log"
fi
exit "$status"
