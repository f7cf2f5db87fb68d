import LibC
import Support

/// The append-only file beside a ledger (`LEDGER.spool`): what was submitted, one JSON line each
/// (docs/reference/ledger-schema.md, The spool). After a restore of an older backup, `merge` reads it back.
///
/// Whoever writes has the ledger's write lock, so that processes do not write at the same time. Lines are on the disk
/// before the commit of what they say, and so before its acknowledgement; a line whose commit failed says something
/// that nobody was told. Lives within one write transaction.
final class EvidenceSpool {
  /// Buffered bytes are written in pieces, because a large import commits a hundred megabytes at once.
  private static let bufferBytesMax = 1 << 20

  private let path: String
  private var buffer: [UInt8] = []
  private var file: OpenFile?

  private struct OpenFile {
    var descriptor: Int32
    /// The length before this transaction.
    var start: Int
    var isNew: Bool
  }

  /// - Parameter path: of the spool.
  init(path: String) { self.path = path }

  deinit { if let file { LibC.close(file.descriptor) } }

  /// The spool of a ledger. Like SQLite's own files it lies beside the target of a link.
  static func path(of ledger: String) -> String { FileSystem.resolvingLinks(ledger) + ".spool" }

  /// Adds a line, without its end.
  func append(_ line: [UInt8]) throws {
    buffer.append(contentsOf: line)
    buffer.append(0x0a)
    if buffer.count >= Self.bufferBytesMax { try write() }
  }

  /// Has all lines on the disk when it returns.
  func finish() throws {
    if !buffer.isEmpty { try write() }
    guard let file else { return }
    try reporting { try FileSystem.synchronise(file.descriptor) }
    if file.isNew { try reporting { try FileSystem.synchronise(FileSystem.split(path).folder) } }
    LibC.close(file.descriptor)
    self.file = nil
  }

  /// Removes the lines of a transaction that fails. Does nothing after `finish`.
  func abandon() {
    buffer = []
    guard let file else { return }
    ftruncate(file.descriptor, off_t(file.start))
    LibC.close(file.descriptor)
    self.file = nil
  }

  private func write() throws {
    let descriptor = try file?.descriptor ?? open()
    try reporting { try buffer.withUnsafeBytes { try FileSystem.write($0, to: descriptor) } }
    buffer.removeAll(keepingCapacity: true)
  }

  private func open() throws -> Int32 {
    let isNew = FileSystem.kind(path) == nil
    // The owner alone may read it, as the ledger.
    let descriptor = LibC.open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(FileSystem.SystemError(number: errno)) }
    var file = OpenFile(descriptor: descriptor, start: 0, isNew: isNew)
    do {
      file.start = try reporting { try Self.endOfLastLine(descriptor) }
      // A process that was killed left a part of a line, which was never acknowledged.
      ftruncate(descriptor, off_t(file.start))
    } catch {
      LibC.close(descriptor)
      throw error
    }
    self.file = file
    return descriptor
  }

  /// The length of a spool without the beginning of a line at its end.
  static func endOfLastLine(_ descriptor: Int32) throws -> Int {
    var end = try FileSystem.status(of: descriptor).bytes
    var piece = [UInt8](repeating: 0, count: 65_536)
    // Nearly always the last byte ends a line.
    var count = min(1, end)
    while end > 0 {
      let start = end - count
      let read = try piece.withUnsafeMutableBytes { bytes throws(FileSystem.SystemError) in
        try FileSystem.read(descriptor, into: .init(rebasing: bytes[..<count]), at: start)
      }
      if let last = piece[..<read].lastIndex(of: 0x0a) { return start + last + 1 }
      end = start
      count = min(piece.count, end)
    }
    return 0
  }

  private func reporting<Value>(_ work: () throws -> Value) throws -> Value {
    do { return try work() } catch let error as FileSystem.SystemError { throw failure(error) }
  }

  private func failure(_ error: FileSystem.SystemError) -> LedgerError {
    Self.failure(error, at: path)
  }

  static func failure(_ error: FileSystem.SystemError, at path: String) -> LedgerError {
    LedgerError(
      .database, at: path, error.isDiskFull ? "the disk is full" : "cannot be written: \(error)",
      remedy: error.writingRemedy)
  }
}

// MARK: - Shortening

extension EvidenceSpool {
  /// Writes the spool anew without some of its lines, in one step. Needs the ledger's write lock.
  ///
  /// - Parameter drops: Whether a line, without its end, is left out.
  /// - Complexity: O(bytes).
  static func rewrite(_ path: String, from start: Int = 0, dropping drops: (ArraySlice<UInt8>) -> Bool) throws {
    guard FileSystem.kind(path) != nil else { return }
    do {
      let source = LibC.open(path, O_RDONLY | O_CLOEXEC)
      guard source >= 0 else { throw FileSystem.SystemError(number: errno) }
      defer { LibC.close(source) }
      lseek(source, off_t(start), SEEK_SET)
      let file = try AtomicFile(target: path, mode: 0o600)
      do {
        let target = LibC.open(file.path, O_WRONLY | O_CLOEXEC)
        guard target >= 0 else { throw FileSystem.SystemError(number: errno) }
        defer { LibC.close(target) }
        try copyLines(from: source, to: target, dropping: drops)
        try file.publish(replacing: true)
      } catch {
        file.remove()
        throw error
      }
    } catch let error as FileSystem.SystemError {
      throw failure(error, at: path)
    }
  }

  private static func copyLines(
    from source: Int32, to target: Int32, dropping drops: (ArraySlice<UInt8>) -> Bool
  ) throws {
    var waiting: [UInt8] = []
    while true {
      let more = try FileSystem.read(source, count: bufferBytesMax)
      if more.isEmpty { return }
      waiting += more
      var (start, kept): (Int, [UInt8]) = (0, [])
      while let end = waiting[start...].firstIndex(of: 0x0a) {
        if !drops(waiting[start..<end]) { kept += waiting[start...end] }
        start = end + 1
      }
      waiting.removeFirst(start)
      try kept.withUnsafeBytes { try FileSystem.write($0, to: target) }
    }
  }

  /// Moves the first bytes of the spool, whole lines, to the end of another file: they are in a backup. Needs the
  /// ledger's write lock. If the process is killed in between, lines are in both files.
  static func move(_ path: String, first count: Int, to target: String) throws {
    guard count > 0 else { return }
    do {
      let descriptor = LibC.open(target, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
      defer { LibC.close(descriptor) }
      ftruncate(descriptor, off_t(try endOfLastLine(descriptor)))
      let source = try ReadOnlyFile(path)
      for start in stride(from: 0, to: count, by: bufferBytesMax) {
        let bytes = try source.bytes(at: start, count: min(bufferBytesMax, count - start))
        try bytes.withUnsafeBytes { try FileSystem.write($0, to: descriptor) }
      }
      try FileSystem.synchronise(descriptor)
      try FileSystem.synchronise(FileSystem.split(target).folder)
    } catch let error as FileSystem.SystemError {
      throw failure(error, at: target)
    }
    try rewrite(path, from: count) { _ in false }
  }
}
