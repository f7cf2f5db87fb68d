// Without Foundation, whose import would forbid the C library's `stdout`, a variable that nobody changes.
#if canImport(Glibc)
  @preconcurrency import Glibc
#else
  @preconcurrency import Darwin
#endif

extension StandardStreams {
  /// Puts out what `print` has kept; false when standard output did not take all of it.
  ///
  /// What did not fit into the buffer was written before: its failure is in the stream's flag alone.
  package static func flush() -> Bool { fflush(nil) == 0 && ferror(stdout) == 0 }
}
