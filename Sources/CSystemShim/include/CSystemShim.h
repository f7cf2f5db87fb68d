#ifndef CSYSTEM_SHIM_H
#define CSYSTEM_SHIM_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* Reads that never wait for a disk. Linux has them since 4.14; on other systems csystem_can_read_resident is 0. */
int csystem_can_read_resident(void);

/* As pread, for bytes that are in the system's page cache; -1 when some of them are not, or when the file system cannot tell. */
long csystem_read_resident(int descriptor, void *bytes, size_t count, int64_t offset);

/* 1 when the file lies on a file system that is itself memory (tmpfs, ramfs), where no read waits. */
int csystem_is_memory(int descriptor);

/* 1 when the file lies on a disk of this machine, 0 on a network drive and where that is not known. */
int csystem_is_local(int descriptor);

/* 1 when somebody else holds a lock for writing on some of these bytes of the file. */
int csystem_is_write_locked(int descriptor, int64_t offset, int64_t count);

/* Tells the allocator how many arenas it may have, and from which size a block is a mapping of its own; nothing where it cannot be told. */
void csystem_limit_allocator(int arenas, int mapping_bytes);

/* Gives memory that is free back to the system; nothing where the allocator cannot be told. */
void csystem_trim_allocator(void);

/* Starts a thread with a stack of so many bytes; 0, or the error number. */
int csystem_start_thread(pthread_t *thread, size_t stack_bytes, void *(*body)(void *), void *argument);

/* The processors that this process may use, by its affinity mask where there is one. */
int csystem_processor_count(void);

/* A descriptor that counts events (eventfd), closed on exec and never waiting; -1 where there is none. */
int csystem_event_descriptor(void);

/* Sends memory to sockets without copying it (Linux; elsewhere csystem_can_move_pages is 0): a pipe with two ends that never
   wait (0, or -1), bytes whose pages it takes, and what moves from it to a socket; the latter two return counts, or -1 (errno). The
   bytes must not change until the client has read them. */
int csystem_can_move_pages(void);
int csystem_open_page_pipe(int ends[2], int bytes);
long csystem_put_pages(int pipe, const void *bytes, size_t count);
long csystem_move_pages(int pipe, int socket, size_t count);

/* Exchanges the names of two files or folders in one step: 0, or -1 (errno; ENOSYS or EINVAL where the system cannot). */
int csystem_exchange(const char *first, const char *second);

/* The file of the shared library that a function is in, 0; or -1 for functions of the program itself and where the linker does not say. */
int csystem_library_of(const void *function, char *path, size_t bytes);

/* Lets the system begin to write these bytes of a file to the disk, and does not wait for it; nothing where it cannot be told. */
void csystem_begin_writeback(int descriptor, int64_t offset, int64_t count);

/* Opens an open file again, for writing past the system's cache (O_DIRECT): a descriptor, or -1 where that is not possible. */
int csystem_open_direct(int descriptor);

/* Has everything that was written to the file system of an open file on the disk: 0, or -1 (errno). */
int csystem_sync_file_system(int descriptor);

#endif
