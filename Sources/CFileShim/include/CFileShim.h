#ifndef CFILE_SHIM_H
#define CFILE_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* Reads that never wait for a disk. Linux has them since 4.14; on other systems cfile_can_read_resident is 0. */
int cfile_can_read_resident(void);

/* As pread, for bytes that are in the system's page cache; -1 when some of them are not, or when the file system cannot tell. */
long cfile_read_resident(int descriptor, void *bytes, size_t count, int64_t offset);

/* 1 when the file lies on a file system that is itself memory (tmpfs, ramfs), where no read waits. */
int cfile_is_memory(int descriptor);

#endif
