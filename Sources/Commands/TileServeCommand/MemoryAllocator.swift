import CSystemShim

/// How the system's allocator treats a server with a memory budget.
enum MemoryAllocator {
  /// Keeps memory that is free from staying with the process. Before there are threads.
  ///
  /// glibc gives each thread an arena of its own, which keeps the most that the thread ever needed: 16 workers that draw hold 60 MB for nothing.
  /// Two arenas, and pixel buffers in mappings of their own, were measured at 87 MB where the defaults take 120 (64 MB of cache, docs/performance.md).
  static func holdDown() {
    csystem_limit_allocator(2, 131_072)
  }
}
