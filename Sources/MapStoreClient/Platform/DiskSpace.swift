import Support
import TileIndex

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

public enum DiskSpace {
  /// What this user may still write on the disk of a folder.
  ///
  /// - Throws: `FileSystem.SystemError`.
  public static func freeBytes(_ path: String) throws -> Int {
    var info = statvfs()
    guard statvfs(path, &info) == 0 else { throw FileSystem.SystemError(number: errno) }
    return Int(clamping: UInt64(info.f_bavail).multipliedReportingOverflow(by: UInt64(info.f_frsize)).partialValue)
  }
}
