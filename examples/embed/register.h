/* A register that is fenced: the other side of an election.
 *
 * It stands for whatever a leader writes to: a database, a service, a disk. It remembers the
 * largest epoch that it has seen, and refuses every write that carries a smaller one. That is what
 * makes a leader harmless that was paused between asking whether it leads and writing.
 *
 * Here it is a file that all instances share. A write is one line, "EPOCH VALUE WRITER"; the last
 * whole line counts. */
#ifndef EMBED_REGISTER_H
#define EMBED_REGISTER_H

#include <stdint.h>

/** Adds 1 to the value, in the name of a leadership. Blocks on the file's lock and on the disk: for
 * threads other than the loop's. Returns 0 with the new value; UV_EACCES if a larger epoch was
 * there before, which is put into `seen`; or another negative code of libuv's. */
int register_add(const char* path, uint64_t epoch, const char* writer, uint64_t* value,
                 uint64_t* seen);

#endif
