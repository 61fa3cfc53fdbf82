# Completion of s3lect(1) for bash. It reads commands and options from the command's own help, so it
# always agrees with the command. It needs nothing else, not even bash-completion.

# Reads the output of `s3lect [COMMAND] --help`: names of commands or options, and names of their
# values. The description of an option begins in column 28, or on the next line.
_s3lect_read_help() { # PROGRAM COMMAND
  local line section=
  names=() metas=()
  while IFS= read -r line; do
    case $line in
      *' options:') section=Options: ;;
      Commands:) section=$line ;;
      '') section= ;;
      '  '[a-z-]*)
        [ "${line:27:1}" != ' ' ] || [ "$section" != Options: ] || line=${line:0:28}
        line=${line%"${line##*[! ]}"}
        if [ "$section" = Commands: ] && [[ $line =~ ^\ \ ([a-z-]+) ]]; then
          names+=("${BASH_REMATCH[1]}") metas+=('')
        elif [ "$section" = Options: ] && [[ $line =~ ^\ \ (--[a-z0-9-]+)(\ ([^ ].*))? ]]; then
          names+=("${BASH_REMATCH[1]}") metas+=("${BASH_REMATCH[3]}")
        fi
        ;;
    esac
  done < <("$1" $2 --help 2>/dev/null)
}

_s3lect_value() { # META
  case $1 in
    FILE) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    s3://*) compopt -o nospace 2>/dev/null; mapfile -t COMPREPLY < <(compgen -W 's3:// file:///' -- "$cur") ;;
    *'|'*) mapfile -t COMPREPLY < <(compgen -W "${1//|/ }" -- "$cur") ;;
    URL) compopt -o nospace 2>/dev/null; mapfile -t COMPREPLY < <(compgen -W 'https:// http://' -- "$cur") ;;
    DUR) mapfile -t COMPREPLY < <(compgen -W '500ms 1s 5s 15s 30s 1m' -- "$cur") ;;
  esac
}

_s3lect() { # PROGRAM
  local cur=${COMP_WORDS[COMP_CWORD]} program=${1/#\~/$HOME} command=${COMP_WORDS[1]}
  local option='' i names metas
  COMPREPLY=()

  if [ "$COMP_CWORD" -eq 1 ]; then
    _s3lect_read_help "$program" ''
    mapfile -t COMPREPLY < <(compgen -W "${names[*]} help --help --version" -- "$cur")
    return
  fi
  _s3lect_read_help "$program" ''
  if [ "$command" = help ]; then
    [ "$COMP_CWORD" -gt 2 ] || mapfile -t COMPREPLY < <(compgen -W "${names[*]}" -- "$cur")
    return
  fi

  # After -- come the command to run and its arguments.
  for ((i = 2; i < COMP_CWORD; i++)); do
    [ "${COMP_WORDS[i]}" = -- ] || continue
    if declare -F _command_offset >/dev/null; then
      _command_offset $((i + 1))
    elif [ "$i" -eq $((COMP_CWORD - 1)) ]; then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
    return
  done

  [[ " ${names[*]} " = *" $command "* ]] || return
  _s3lect_read_help "$program" "$command"

  # The value of an option: "--name value", or "--name=value", which bash splits into three words.
  if [ "$cur" = = ]; then
    option=${COMP_WORDS[COMP_CWORD - 1]} cur=
  elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  else
    option=${COMP_WORDS[COMP_CWORD - 1]}
  fi
  for i in "${!names[@]}"; do
    if [ "${names[i]}" = "$option" ] && [ -n "${metas[i]}" ]; then
      _s3lect_value "${metas[i]}"
      return
    fi
  done

  # A file as store: bash splits file:///x into the words file, : and ///x.
  if [ "${COMP_WORDS[COMP_CWORD - 2]} ${COMP_WORDS[COMP_CWORD - 1]}" = 'file :' ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -P // -- "${cur#//}")
    return
  fi

  # An option that the line does not have yet.
  for ((i = 2; i < COMP_CWORD; i++)); do
    for option in "${!names[@]}"; do
      [ "${names[option]}" != "${COMP_WORDS[i]}" ] || unset "names[option]"
    done
  done
  [ "$command" != run ] || names+=(--)
  mapfile -t COMPREPLY < <(compgen -W "${names[*]}" -- "$cur")
}

complete -F _s3lect s3lect
