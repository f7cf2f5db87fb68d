#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Looks whether files are there.
enum FileProbe {
  /// True for a file or folder that this process may read.
  static func isReadable(_ path: String) -> Bool { access(path, R_OK) == 0 }
}
