#if canImport(Glibc)
  import Glibc
#endif

/// How the system's allocator treats a server with a memory budget.
enum MemoryAllocator {
  /// Keeps memory that is free from staying with the process. Before there are threads.
  ///
  /// glibc gives each thread an arena of its own, which keeps the most that the thread ever needed: 16 workers that draw hold 60 MB for nothing.
  /// Two arenas, and pixel buffers in mappings of their own, were measured at 79 MB where the defaults take 120 (64 MB of cache, docs/performance.md).
  static func holdDown() {
    #if canImport(Glibc)
      mallopt(M_ARENA_MAX, 2)
      mallopt(M_MMAP_THRESHOLD, 131_072)
      mallopt(M_TRIM_THRESHOLD, 131_072)
    #endif
  }
}
