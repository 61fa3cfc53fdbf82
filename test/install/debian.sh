#!/usr/bin/env bash
# Builds the Debian packages as docs/deploy.md says, has lintian read them, and does the rest of the page in
# a new root, made by mmdebstrap from Debian's archive: debian.sh VERSION
#
# In the root the demo's election is held with the installed commands; when the packages have been removed,
# the root is as it was. A program is built with the library on a copy of this machine, which has a compiler.
# Exit 77: skipped, with the reason printed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

skip() {
  echo "skipped: $*"
  exit 77
}
version=$1
for tool in dpkg-deb lintian mmdebstrap; do
  command -v $tool >/dev/null || skip "no $tool here"
done
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ "$(. /etc/os-release && echo "$ID")" = debian ] || skip "not a Debian: the packages are for the system that makes them"

dir=$(mktemp -d "${TMPDIR:-/tmp}/s3lect-debian.XXXXXX")
trap 'rm -rf "$dir"' EXIT
quiet() { # COMMAND...
  "$@" >"$dir/log" 2>&1 </dev/null || { tail -n 50 "$dir/log"; echo "failed: $*" >&2; exit 1; }
}
block() { # PART
  test/docs/blocks.sh docs/deploy.md install-debian "$1"
}

rm -rf build/debian/packages
quiet bash -e -c "$(block build)"
packages=(build/debian/packages/*.deb)
[ "${#packages[@]}" = 4 ] || { echo "the packages: ${packages[*]}"; exit 1; }
said=$(lintian --display-info --allow-root --fail-on info "${packages[@]}") || { echo "$said"; exit 1; }
echo "lintian has nothing to say of ${packages[*]##*/}"

# All that mmdebstrap runs in the root is in this script. Files that come and go by themselves are not
# compared.
cat >"$dir/inside" <<END
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C
cd /root/s3lect
files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path /root/s3lect \
    -o -path '/var/*/apt' -o -path /var/cache/ldconfig -o -path '/var/lib/dpkg/*-old' -o -path '/var/log/*' \) \
    -prune -o -print | sort
}
echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/90yes
apt-get -q update
files >/tmp/before
$(block install)
[ "\$(s3lect --version)" = "s3lect $version" ]
[ ! -e /usr/share/doc/libs3lect0 ]
$(block develop)
[ "\$(dpkg-query -W -f '\${Status}\n' s3lect libs3lect0 libs3lect-dev s3lect-testing | sort -u)" = "install ok installed" ]
bash /usr/share/doc/libs3lect-dev/examples/demo.sh --installed
$(block remove)
files >/tmp/after
diff /tmp/before /tmp/after
! dpkg-query -W '*s3lect*'
END
mkdir -p "$dir/tree/build/debian/packages"
cp "${packages[@]}" "$dir/tree/build/debian/packages"
if ! mmdebstrap --quiet --variant=apt --include=sudo --customize-hook="copy-in $dir/inside /root" \
  --customize-hook='mkdir "$1/root/s3lect"' --customize-hook="copy-in $dir/tree/build /root/s3lect" \
  --customize-hook='chroot "$1" bash /root/inside >&2' "$suite" /dev/null >"$dir/log" 2>&1; then
  why=$(grep -m 1 -E 'apt-get update .* failed|unshare.*failed|newuidmap' "$dir/log") || true
  [ -z "$why" ] || skip "mmdebstrap cannot make a root here: $why"
  cat "$dir/log"
  exit 1
fi
echo "installed, elected and removed in a new root of $suite"

# The compiler finds what libs3lect-dev has in the folders of the architecture.
tar -c test/install/consumer.c examples/embed "${packages[@]}" | test/install/on-copy.sh bash -euo pipefail -c '
  mkdir /tmp/s3lect
  cd /tmp/s3lect
  tar -x
  dpkg --install build/debian/packages/*.deb >log 2>&1 || { cat log; exit 1; }
  cc -D_XOPEN_SOURCE=700 test/install/consumer.c -o shared $(pkg-config --cflags --libs s3lect)
  cc -D_XOPEN_SOURCE=700 test/install/consumer.c -o static \
    $(pkg-config --static --cflags --libs s3lect | sed s/-ls3lect/-l:libs3lect.a/)
  for program in ./shared ./static; do
    [ "$($program)" = "leading, epoch 8" ]
  done
  { cmake -S examples/embed -B embed && cmake --build embed; } >log 2>&1 || { cat log; exit 1; }
  echo "programs are built with the packages"'
