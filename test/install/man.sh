#!/usr/bin/env bash
# Checks the installed manual pages: man.sh PREFIX
# Exit 77: skipped, with the reason printed.
set -euo pipefail

prefix=$1
command -v perl >/dev/null || { echo "skipped: no perl here, which makes the pages"; exit 77; }
for page in man1/s3lect.1 man1/s3lect-fakes3.1 man3/s3lect.3; do
  page=$prefix/share/man/$page
  if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$page"
  elif command -v groff >/dev/null; then
    warnings=$(groff -mdoc -T utf8 -ww "$page" 2>&1 >/dev/null)
    [ -z "$warnings" ] || { echo "$page: $warnings" >&2; exit 1; }
  else
    echo "skipped: neither mandoc nor groff here"
    exit 77
  fi
done
text=$(groff -mdoc -T ascii -P-c "$prefix/share/man/man1/s3lect.1" 2>/dev/null || true)
[ -z "$text" ] || grep -q -e '--kill-after' <<<"$text" || { echo "s3lect.1 does not show --kill-after" >&2; exit 1; }
link=$prefix/share/man/man3/s3lect_elector_init.3
[ "$(cat "$link")" = '.so man3/s3lect.3' ] || { echo "$link is not s3lect.3" >&2; exit 1; }
echo "the pages are well"
