import LibC

/// Reads the small text files of the kernel; in tests, given texts.
package struct SystemText: Sendable {
  /// The text of a file; nil when it cannot be read.
  package let read: @Sendable (_ path: String) -> String?

  package init(_ read: @escaping @Sendable (_ path: String) -> String?) { self.read = read }

  /// No file of the kernel is larger.
  private static let byteCountMax = 1 << 20

  /// The system's files.
  package static let files = SystemText { path in
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 16_384)
    while bytes.count < byteCountMax {
      let count = chunk.withUnsafeMutableBytes { LibC.read(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      bytes.append(contentsOf: chunk[..<count])
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension String {
  /// The number after a name at the beginning of a line: `MemTotal:  16384 kB`, `inactive_file 4096`.
  func number(after name: String) -> Int? {
    for line in split(separator: "\n") {
      let words = line.split { $0 == " " || $0 == "\t" }
      if words.count >= 2, words[0] == name { return Int(words[1]) }
    }
    return nil
  }

  /// The text as a number; nil for `max` and anything else.
  var wholeNumber: Int? {
    let words = split { $0 == " " || $0 == "\n" }
    guard words.count == 1 else { return nil }
    // Some kernels write "no limit" as a number larger than any memory.
    return UInt64(words[0]).map { Int(clamping: $0) }
  }
}
