import Support

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension FileSystem {
  /// Hands the names in a folder to a closure, in no order, until it returns false. Nothing happens where there is no such folder.
  ///
  /// - Throws: ``SystemError``; what the closure throws.
  static func forEachName(in folder: String, _ body: (UnsafeBufferPointer<UInt8>) throws -> Bool) throws {
    guard let directory = opendir(folder) else {
      let error = SystemError(number: errno)
      if error.isMissing { return }
      throw error
    }
    defer { closedir(directory) }
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        guard errno == 0 else { throw SystemError(number: errno) }
        return
      }
      let goesOn = try withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        try pointer.withMemoryRebound(to: UInt8.self, capacity: MemoryLayout.size(ofValue: pointer.pointee)) { name in
          let count = name.withMemoryRebound(to: CChar.self, capacity: 1) { strlen($0) }
          return try body(UnsafeBufferPointer(start: name, count: count))
        }
      }
      if !goesOn { return }
    }
  }
}
