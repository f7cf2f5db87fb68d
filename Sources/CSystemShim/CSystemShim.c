/* C because Swift's module of glibc has neither what is shown to _GNU_SOURCE only (preadv2) nor statfs and mallopt. */
#define _GNU_SOURCE
#include "CSystemShim.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int csystem_library_of(const void *function, char *path, size_t bytes) {
  Dl_info library, own;
  if (!dladdr(function, &library) || !library.dli_fname || strlen(library.dli_fname) >= bytes) return -1;
  if (dladdr((const void *)csystem_library_of, &own) && own.dli_fbase == library.dli_fbase) return -1;
  strcpy(path, library.dli_fname);
  return 0;
}

int csystem_start_thread(pthread_t *thread, size_t stack_bytes, void *(*body)(void *), void *argument) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  int number = pthread_create(thread, &attributes, body, argument);
  pthread_attr_destroy(&attributes);
  return number;
}

int csystem_processor_count(void) {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? (int)count : 1;
}

#if defined(__linux__)
#include <sys/eventfd.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

int csystem_can_read_resident(void) { return 1; }

long csystem_read_resident(int descriptor, void *bytes, size_t count, int64_t offset) {
  struct iovec part = {bytes, count};
  return preadv2(descriptor, &part, 1, (off_t)offset, RWF_NOWAIT);
}

int csystem_is_memory(int descriptor) {
  struct statfs system;
  if (fstatfs(descriptor, &system) != 0) return 0;
  /* TMPFS_MAGIC and RAMFS_MAGIC of linux/magic.h. */
  return (unsigned)system.f_type == 0x01021994u || (unsigned)system.f_type == 0x858458f6u;
}

int csystem_is_local(int descriptor) {
  /* ext2 to ext4, XFS, Btrfs, tmpfs, ramfs, ZFS, F2FS, overlayfs, bcachefs, SquashFS, EROFS, ISO 9660, UDF, FAT, exFAT,
     NTFS, HFS+, JFS, ReiserFS (linux/magic.h). */
  static const unsigned known[] = {
      0xef53,     0x58465342, 0x9123683e, 0x01021994, 0x858458f6, 0x2fc12fc1, 0xf2f52010, 0x794c7630, 0xca451a4e, 0x73717368,
      0xe0f5e1e2, 0x9660,     0x15013346, 0x4d44,     0x2011bab0, 0x7366746e, 0x482b,     0x3153464a, 0x52654973};
  struct statfs system;
  if (fstatfs(descriptor, &system) != 0) return 0;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if ((unsigned)system.f_type == known[i]) return 1;
  }
  return 0;
}

int csystem_event_descriptor(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int csystem_can_move_pages(void) { return 1; }

int csystem_open_page_pipe(int ends[2], int bytes) {
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
  /* What the system refuses here (pipe-user-pages-soft) makes the pipe smaller, not useless. */
  fcntl(ends[1], F_SETPIPE_SZ, bytes);
  return 0;
}

long csystem_put_pages(int pipe, const void *bytes, size_t count) {
  struct iovec part = {(void *)bytes, count};
  return vmsplice(pipe, &part, 1, SPLICE_F_NONBLOCK);
}

long csystem_move_pages(int pipe, int socket, size_t count) {
  return splice(pipe, 0, socket, 0, count, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
}

int csystem_exchange(const char *first, const char *second) {
  return renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE);
}

int csystem_sync_file_system(int descriptor) { return syncfs(descriptor); }

void csystem_begin_writeback(int descriptor, int64_t offset, int64_t count) {
  sync_file_range(descriptor, offset, count, SYNC_FILE_RANGE_WRITE);
}

int csystem_open_direct(int descriptor) {
  char path[32];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  return open(path, O_WRONLY | O_DIRECT | O_CLOEXEC);
}

#else

#include <errno.h>
#include <unistd.h>

int csystem_event_descriptor(void) { return -1; }
int csystem_can_move_pages(void) { return 0; }
int csystem_open_page_pipe(int ends[2], int bytes) { return -1; }
long csystem_put_pages(int pipe, const void *bytes, size_t count) { return -1; }
long csystem_move_pages(int pipe, int socket, size_t count) { return -1; }
int csystem_open_direct(int descriptor) { return -1; }
int csystem_exchange(const char *first, const char *second) {
  errno = ENOSYS;
  return -1;
}
int csystem_sync_file_system(int descriptor) {
  sync();
  return 0;
}
void csystem_begin_writeback(int descriptor, int64_t offset, int64_t count) {}
int csystem_can_read_resident(void) { return 0; }
long csystem_read_resident(int descriptor, void *bytes, size_t count, int64_t offset) { return -1; }
int csystem_is_memory(int descriptor) { return 0; }

#if defined(__APPLE__)
#include <TargetConditionals.h>
#endif

#if defined(__APPLE__) && TARGET_OS_OSX
#include <sys/mount.h>

int csystem_is_local(int descriptor) {
  struct statfs system;
  return fstatfs(descriptor, &system) == 0 && (system.f_flags & MNT_LOCAL) != 0;
}
#elif defined(__APPLE__)
/* What an app may open is on the device; its privacy manifest would have to give a reason for statfs. */
int csystem_is_local(int descriptor) { return 1; }
#else
int csystem_is_local(int descriptor) { return 0; }
#endif

#endif

int csystem_is_write_locked(int descriptor, int64_t offset, int64_t count) {
  struct flock lock = {0};
  lock.l_type = F_RDLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = (off_t)offset;
  lock.l_len = (off_t)count;
#if defined(__linux__)
  /* F_OFD_GETLK, which also sees the locks of this process. */
  if (fcntl(descriptor, 36, &lock) == 0) return lock.l_type == F_WRLCK;
  lock.l_type = F_RDLCK;
#endif
  return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

#if defined(__GLIBC__)
#include <malloc.h>

void csystem_limit_allocator(int arenas, int mapping_bytes) {
  mallopt(M_ARENA_MAX, arenas);
  mallopt(M_MMAP_THRESHOLD, mapping_bytes);
  /* Less, and the heap's end would be given back and fetched again for every few responses. */
  mallopt(M_TRIM_THRESHOLD, 32 * mapping_bytes);
}

void csystem_trim_allocator(void) { malloc_trim(0); }

#else

void csystem_limit_allocator(int arenas, int mapping_bytes) {}
void csystem_trim_allocator(void) {}

#endif
