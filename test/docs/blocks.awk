# Takes a page apart: awk -v dir=DIR -f blocks.awk PAGE
#
# Block N of code becomes the file DIR/N. Prints a line for each block, in order: LINE LANGUAGE N COMMENT,
# where COMMENT is what the comment right before the block says. The comments that stand for themselves,
# "await" and "signal", are lines "LINE - - COMMENT"; a block that is not closed has the language "open".
/^<!-- .* -->$/ && !inside {
  comment = substr($0, 6, length($0) - 9)
  if (comment ~ /^(await|signal) /) { print NR, "-", "-", comment; comment = "" }
  next
}
/^ *```/ && !inside {
  inside = 1; language = substr($0, index($0, "```") + 3); start = NR; indent = index($0, "`") - 1
  file = dir "/" ++n; printf "" >file
  next
}
/^ *```$/ && inside {
  inside = 0; close(file)
  print start, (language == "" ? "text" : language), n, comment
  comment = ""
  next
}
inside { print substr($0, indent + 1) >file; next }
!/^$/ { comment = "" }
END { if (inside) print start, "open", n, "" }
