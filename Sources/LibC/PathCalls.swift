// The calls of the C library that take a path, for a `String`: Swift prefers them to those of C, so that no call gets
// the text of a path where the system needs its bytes (SystemPath).

package func open(_ path: String, _ flags: Int32) -> Int32 { SystemPath.withPointer(path) { open($0, flags) } }

package func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
  SystemPath.withPointer(path) { open($0, flags, mode) }
}

package func stat(_ path: String, _ info: UnsafeMutablePointer<stat>) -> Int32 {
  SystemPath.withPointer(path) { stat($0, info) }
}

package func lstat(_ path: String, _ info: UnsafeMutablePointer<stat>) -> Int32 {
  SystemPath.withPointer(path) { lstat($0, info) }
}

package func statvfs(_ path: String, _ info: UnsafeMutablePointer<statvfs>) -> Int32 {
  SystemPath.withPointer(path) { statvfs($0, info) }
}

package func access(_ path: String, _ mode: Int32) -> Int32 { SystemPath.withPointer(path) { access($0, mode) } }

package func truncate(_ path: String, _ bytes: off_t) -> Int32 { SystemPath.withPointer(path) { truncate($0, bytes) } }

@discardableResult package func unlink(_ path: String) -> Int32 { SystemPath.withPointer(path) { unlink($0) } }

@discardableResult package func rmdir(_ path: String) -> Int32 { SystemPath.withPointer(path) { rmdir($0) } }

package func mkdir(_ path: String, _ mode: mode_t) -> Int32 { SystemPath.withPointer(path) { mkdir($0, mode) } }

package func chdir(_ path: String) -> Int32 { SystemPath.withPointer(path) { chdir($0) } }

package func rename(_ path: String, _ target: String) -> Int32 {
  SystemPath.withPointer(path) { path in SystemPath.withPointer(target) { rename(path, $0) } }
}

package func link(_ path: String, _ target: String) -> Int32 {
  SystemPath.withPointer(path) { path in SystemPath.withPointer(target) { link(path, $0) } }
}

package func readlink(_ path: String, _ target: UnsafeMutablePointer<CChar>, _ count: Int) -> Int {
  SystemPath.withPointer(path) { readlink($0, target, count) }
}

package func realpath(_ path: String, _ resolved: UnsafeMutablePointer<CChar>?) -> UnsafeMutablePointer<CChar>? {
  SystemPath.withPointer(path) { realpath($0, resolved) }
}

#if canImport(Darwin)
  package func opendir(_ path: String) -> UnsafeMutablePointer<DIR>? { SystemPath.withPointer(path) { opendir($0) } }
#else
  package func opendir(_ path: String) -> OpaquePointer? { SystemPath.withPointer(path) { opendir($0) } }
#endif
