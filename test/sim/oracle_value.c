/* sim/oracle_value.c: what leaders publish, and what others are told of it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/oracle.h"

/* The newest first: mostly it is one of these. */
bool oracle_value_is_written(const oracle_t* o, uint64_t epoch, const char* text) {
  size_t len = o->values_len < ORACLE_VALUES ? o->values_len : ORACLE_VALUES;
  for (size_t i = 1; i <= len; i++) {
    size_t at = (o->values_len - i) % ORACLE_VALUES;
    if (o->values[at].epoch == epoch && strcmp(o->values[at].text, text) == 0)
      return true;
  }
  return false;
}

void oracle_value_sent(oracle_t* o, const oracle_write_t* w) {
  size_t i = o->values_len % ORACLE_VALUES;
  bool none = w->value == NULL || w->value[0] == '\0';
  if (none || oracle_value_is_written(o, w->epoch, w->value))
    return;
  o->values[i].epoch = w->epoch;
  snprintf(o->values[i].text, ORACLE_VALUE_SIZE, "%s", w->value);
  o->values_len++;
}

void oracle_value_note(oracle_t* o, int node, int64_t t, const oracle_note_t* note) {
  oracle_node_t* n = &o->nodes[node];
  if (note->value[0] != '\0' && !oracle_value_is_written(o, note->epoch, note->value))
    oracle_fail(o, ORACLE_VALUE, t, node, -1,
                "n%d is told the value %s of epoch %" PRIu64 ", which nobody wrote", node,
                note->value, note->epoch);
  n->value_epoch = note->epoch;
  snprintf(n->value, sizeof n->value, "%s", note->value);
}

void oracle_told(oracle_t* o, int node, int64_t t) {
  const oracle_node_t* n = &o->nodes[node];
  if (n->value[0] != '\0' && n->leader_epoch != 0 && n->leader_epoch != n->value_epoch)
    oracle_fail(o, ORACLE_VALUE, t, node, -1,
                "n%d is left with the value %s of epoch %" PRIu64 ", when epoch %" PRIu64 " is led",
                node, n->value, n->value_epoch, n->leader_epoch);
}
