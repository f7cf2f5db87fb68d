/* C because glibc shows preadv2 and statfs to _GNU_SOURCE only, which Swift's importer does not set. */
#define _GNU_SOURCE
#include "CFileShim.h"

#if defined(__linux__)
#include <sys/statfs.h>
#include <sys/uio.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

int cfile_can_read_resident(void) { return 1; }

long cfile_read_resident(int descriptor, void *bytes, size_t count, int64_t offset) {
  struct iovec part = {bytes, count};
  return preadv2(descriptor, &part, 1, (off_t)offset, RWF_NOWAIT);
}

int cfile_is_memory(int descriptor) {
  struct statfs system;
  if (fstatfs(descriptor, &system) != 0) return 0;
  /* TMPFS_MAGIC and RAMFS_MAGIC of linux/magic.h. */
  return (unsigned)system.f_type == 0x01021994u || (unsigned)system.f_type == 0x858458f6u;
}

#else

int cfile_can_read_resident(void) { return 0; }
long cfile_read_resident(int descriptor, void *bytes, size_t count, int64_t offset) { return -1; }
int cfile_is_memory(int descriptor) { return 0; }

#endif
