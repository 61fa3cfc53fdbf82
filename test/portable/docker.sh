#!/usr/bin/env bash
# What docker does, as far as the Dockerfile and docs/deploy.md need it, without an engine:
#
#   docker.sh build -t NAME .    runs the steps of ./Dockerfile in roots of their own
#   docker.sh run [--rm] [-e VARIABLE]... NAME [ARG]...
#                                runs the image's program in the image's root, as its user
#   docker.sh health NAME        runs its HEALTHCHECK, as the engine does while a container runs
#
# $S3L_DOCKER is the folder of roots and images. An image of a registry is stood in for by a new Debian, which
# mmdebstrap makes; in the place of rust's it gets this machine's cargo. A step that this script does not
# know is an error. Needs root. Exit 77: Debian's archive cannot be reached.
set -euo pipefail

say() { echo "docker.sh: $*" >&2; }

fail() {
  say "$*"
  exit 1
}

# A command in a root, as USER:GROUP, with its own processes and mounts, and with the environment $variables.
inside() { # ROOT USER COMMAND...
  env -i "${variables[@]}" unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
    root=$1 user=$2
    shift 2
    for folder in proc dev; do mkdir -p "$root/$folder"; done
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    exec chroot "--userspec=$user" "$root" "$@"' - "$@"
}

# What a step finds in its environment: arguments of the build, and what reaches the registries here.
clean_env() {
  local name
  variables=(PATH=/usr/local/cargo/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root)
  for name in SSL_CERT_FILE PIP_CERT CARGO_HTTP_CAINFO HTTP_PROXY HTTPS_PROXY http_proxy https_proxy; do
    [ -z "${!name:-}" ] || variables+=("$name=${!name}")
  done
}

make_root() { # IMAGE
  local image=$1 suite=bookworm cargo
  [[ $image == scratch ]] && { mkdir "$root"; return; }
  [[ $image == *-bookworm || $image == debian:12* ]] || fail "does not know the image $image"
  mmdebstrap --quiet --variant=apt --include=ca-certificates $suite "$root" >"$state/log" 2>&1 || {
    tail -n 5 "$state/log" >&2
    exit 77
  }
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  if [[ $image == rust:* ]]; then
    cargo=$(rustup which cargo 2>/dev/null) || cargo=$(command -v cargo) || { say "no cargo here"; exit 77; }
    mkdir -p "$root/usr/local/cargo"
    cp -a "$(dirname "$(dirname "$cargo")")"/{bin,lib} "$root/usr/local/cargo"
  fi
}

copy() { # [--from=STAGE or IMAGE] SOURCE DESTINATION
  local from=$state/context to
  if [[ $1 == --from=* ]]; then
    from=$state/stages/${1#--from=}
    [ -d "$from" ] || from=$state/images/${1#--from=}/root
    shift
  fi
  [ $# = 2 ] || fail "does not know COPY $*"
  [[ $2 = /* ]] && to=$root/$2 || to=$root/$workdir/$2
  mkdir -p "$to"
  [ ! -d "$from/$1" ] && cp -a "$from/$1" "$to" || cp -a "$from/$1/." "$to"
}

step() { # INSTRUCTION ARGUMENTS
  local words
  read -ra words <<<"$2"
  case "$1" in
    FROM)
      [[ ${words[0]} != --platform=* ]] || words=("${words[@]:1}")
      root=$state/stages/${words[2]:-last} workdir=/
      rm -rf "$root"
      make_root "${words[0]}"
      clean_env
      ;;
    ARG) [ "$2" = TARGETARCH ] && variables+=("TARGETARCH=$(dpkg --print-architecture)") || fail "does not know ARG $2" ;;
    WORKDIR) workdir=$2 && mkdir -p "$root$workdir" ;;
    COPY) copy "${words[@]}" ;;
    RUN) inside "$root" 0:0 sh -c "cd $workdir && $2" </dev/null >&2 ;;
    USER | ENTRYPOINT | HEALTHCHECK) echo "$2" >"$image/$1" ;;
    *) fail "does not know $1" ;;
  esac
}

# The words of ["a", "b"], one a line.
words_of() { # FILE
  sed 's/^[^[]*\[ *"//; s/" *\] *$//; s/" *, *"/\n/g' "$1"
}

state=${S3L_DOCKER:?}
verb=$1
shift
case "$verb" in
  build)
    [ "$1 $3" = "-t ." ] || fail "does not know build $*"
    image=$state/images/$2
    rm -rf "$image" "$state/context"
    mkdir -p "$image" "$state/stages" "$state/context"
    git ls-files -z | tar -c --null -T - | tar -x -C "$state/context"
    while read -r instruction arguments; do
      say "$instruction $arguments"
      step "$instruction" "$arguments"
    done < <(sed -e '/^#/d' -e '/^ *$/d' Dockerfile | sed -e ':join' -e '/\\$/ { N; s/\\\n//; b join' -e '}')
    mv "$root" "$image/root"
    ;;
  run)
    variables=(PATH=/usr/bin:/bin:/usr/sbin:/sbin)
    while :; do
      case "$1" in
        --rm) shift ;;
        -e) variables+=("$2=${!2}") && shift 2 ;;
        *) break ;;
      esac
    done
    image=$state/images/$1
    mapfile -t command < <(words_of "$image/ENTRYPOINT")
    inside "$image/root" "$(cat "$image/USER")" "${command[@]}" "${@:2}"
    ;;
  health)
    image=$state/images/$1 variables=(PATH=/usr/bin:/bin:/usr/sbin:/sbin)
    mapfile -t command < <(words_of "$image/HEALTHCHECK")
    inside "$image/root" "$(cat "$image/USER")" "${command[@]}"
    ;;
  *) fail "does not know $verb" ;;
esac
