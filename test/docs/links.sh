#!/usr/bin/env bash
# Checks that links between pages lead to pages and headings that exist: links.sh ROOT [AT-LEAST]
set -euo pipefail

cd "$1"
mapfile -t pages < <(find . -name '*.md' -not -path './build/*' -not -path '*/node_modules/*' | sort)

# The anchors of a page's headings, as GitHub makes them.
anchors() { # PAGE
  awk '/^```/ { inside = !inside } /^#+ / && !inside { sub(/^#+ /, ""); print tolower($0) }' "$1" |
    sed -E 's/`//g; s/[^a-z0-9 _-]//g; s/ /-/g'
}

count=0 bad=0
for page in "${pages[@]}"; do
  while IFS= read -r link; do
    case $link in *://* | mailto:*) continue ;; esac
    file=$page anchor=
    [ -z "${link%%#*}" ] || file=$(dirname "$page")/${link%%#*}
    [[ $link != *#* ]] || anchor=${link#*#}
    count=$((count + 1))
    if [ ! -e "$file" ]; then
      echo "$page: there is no ${link%%#*}"
      bad=$((bad + 1))
    elif [ -n "$anchor" ] && [[ $file == *.md ]] && ! anchors "$file" | grep -q -x -F -e "$anchor"; then
      echo "$page: ${link%%#*} has no heading for #$anchor"
      bad=$((bad + 1))
    fi
  done < <(awk '/^ *```/ { inside = !inside } !inside' "$page" | grep -o ']([^) ]*)' | sed 's/^](//; s/)$//' || true)
done
[ "$count" -ge "${2:-50}" ] || { echo "only $count links found"; exit 1; }
[ "$bad" = 0 ] || exit 1
echo "$count links"
