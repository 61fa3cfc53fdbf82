#!/usr/bin/env bash
# Checks docs/monitoring.md, its alert rules and its dashboard against the metrics that the command
# really serves: monitoring.sh SOURCE PROGRAM
# Exit 77: skipped, with the reason printed.
set -euo pipefail

source=$1 program=$2
dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-monitoring.XXXXXX")
pid=
clean() {
  [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$dir"
}
trap clean EXIT
command -v curl >/dev/null || { echo "skipped: no curl here"; exit 77; }

"$program" elect --store "file://$dir/lock.json" --http 0 >"$dir/out" 2>"$dir/err" &
pid=$!
until grep -q 'serving pages at' "$dir/err"; do
  kill -0 "$pid" || { cat "$dir/err" >&2; exit 1; }
  sleep 0.1
done
at=$(sed -n 's/.*serving pages at //p' "$dir/err")
curl -s -f "http://$at/metrics" >"$dir/page"

# The names of samples: of a histogram there are three for each family.
sed -n 's/^# TYPE \(s3lect_[a-z_]*\) \(.*\)/\1 \2/p' "$dir/page" >"$dir/families"
while read -r name type; do
  echo "$name"
  [ "$type" != histogram ] || printf '%s\n' "${name}_bucket" "${name}_sum" "${name}_count"
done <"$dir/families" | sort >"$dir/real"
[ "$(wc -l <"$dir/families")" -ge 20 ] || { echo "only $(wc -l <"$dir/families") metrics" >&2; exit 1; }

bad=0
complain() {
  echo "$*" >&2
  bad=1
}

# Every name that is used exists, and every metric is described.
for file in monitoring.md monitoring/alerts.yml monitoring/grafana.json; do
  grep -o 's3lect_[a-z_]*' "$source/docs/$file" | grep -v '^s3lect_\(elector\|peer_server\)_[a-z]*' |
    grep -v '^s3lect_\(elector\|peer_server\)$' | grep -v '_\(t\|init\|options\)$' | sort -u >"$dir/used"
  [ -s "$dir/used" ] || complain "docs/$file names no metric"
  while read -r name; do
    grep -q -x "$name" "$dir/real" || complain "docs/$file has $name, which is not served"
  done <"$dir/used"
done
while read -r name type; do
  grep -q "^| .*\`$name\`" "$source/docs/monitoring.md" ||
    complain "docs/monitoring.md does not describe $name ($type)"
done <"$dir/families"

# Labels and results that the rules select exist.
grep -o 'result=~"[a-z|]*"' "$source/docs/monitoring/alerts.yml" | grep -o '"[a-z|]*"' | tr -d '"' | tr '|' '\n' |
  while read -r result; do
    grep -q "result=\"$result\"" "$dir/page" || { echo "no result $result" >&2; exit 1; }
  done

# Every alert is explained.
for alert in $(sed -n 's/.*- alert: //p' "$source/docs/monitoring/alerts.yml"); do
  grep -q "^| .*\`$alert\`" "$source/docs/monitoring.md" || complain "docs/monitoring.md does not explain $alert"
done
if command -v perl >/dev/null && perl -MJSON::PP -e1 2>/dev/null; then
  perl -MJSON::PP -0777 -ne 'decode_json($_)' "$source/docs/monitoring/grafana.json" ||
    complain "docs/monitoring/grafana.json is no JSON"
fi
if command -v promtool >/dev/null; then
  promtool check rules "$source/docs/monitoring/alerts.yml" >"$dir/promtool" || complain "$(cat "$dir/promtool")"
  promtool check metrics <"$dir/page" >"$dir/promtool" 2>&1 || complain "$(cat "$dir/promtool")"
fi
[ "$bad" = 0 ] || exit 1
echo "$(wc -l <"$dir/families") metrics"
