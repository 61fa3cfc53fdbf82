#!/usr/bin/env bash
# Runs a seed under which a broken core has two leaders: mutant.sh COMMAND...
#
# The plan of a seed is always the same, but the processes run for real, and on a busy machine the
# plan may miss its moment. So it is run until it is caught, six times at most.
for _ in 1 2 3 4 5 6; do
  "$@" || exit 0
done
exit 1
