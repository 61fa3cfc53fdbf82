#!/usr/bin/env bash
# Names that the project has given up for the field's terms must not come back: words.sh ROOT
# Prints each line with one of them, and fails if there is one.
set -euo pipefail
cd "$1"

# Extended regular expressions for whole words, and the term to use.
words='
seats?|askers?                     peer registration, probe
s3l_(driver|admit|gate|mend)\w*    executor, preflight, credential queue, recovery
s3l_(names|sized|near|asker)_\w*   leader names, versioned, suggest, probe
s3l_view\w*|S3L_VIEW\w*            observation
legal_at|clean_at                  takeover_at, last_clean_list
unfounded|robbed                   provisional, orphaned
parting|took_ours                  releasing, overwrote_own
vouched|untold                     confirmed, pending
glance|wary|brink|tape             conditional read, require_fresh, boundary, log
aim|SHAKING|on_gone                set_origin, HANDSHAKING, on_abort
lonely|in_our_words|make_sure      missing_dependency, rename_options, ensure_killed
news|NO_NEWS|NOTED_\w*             notice
problem\.h|option_text\w*          s3lect_error_t
'

found=0
while read -r word term; do
  [ -n "$word" ] || continue
  if grep -rnwEI --exclude-dir=node_modules --exclude-dir=corpus --exclude=words.sh -- "$word" \
    src include test examples docs packaging README.md CONTRIBUTING.md; then
    echo "  -> say: $term"
    found=1
  fi
done <<<"$words"
exit $found
