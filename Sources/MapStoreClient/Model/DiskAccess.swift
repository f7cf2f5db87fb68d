import Dispatch
import Support
import Synchronization
import TileIndex

/// Computes the SHA-256 of a file or a range of it.
enum FileDigest {
  private static let chunk = 1 << 18

  /// - Parameter onBytes: gets the number of bytes of each piece that was read; throwing ends the reading.
  /// - Returns: 64 hexadecimal digits in lower case; nil if the file is missing or too short.
  /// - Throws: `FileSystem.SystemError` if it cannot be read.
  static func sha256(
    _ path: String, _ range: Range<Int>? = nil, onBytes: (Int) throws -> Void = { _ in }
  ) throws -> String? {
    let file: ReadOnlyFile
    do {
      file = try ReadOnlyFile(path)
    } catch let error as FileSystem.SystemError where error.isMissing {
      return nil
    } catch is ReadOnlyFile.NotAFile {
      return nil
    }
    return try sha256(file, range ?? 0..<file.byteCount, onBytes: onBytes)
  }

  /// The hash of a whole file, computed on one of the system's threads until the task is cancelled.
  ///
  /// - Parameter onBytes: gets the number of bytes that were read so far.
  static func sha256(
    waitingFor path: String, onBytes: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> String? {
    let stop = StopFlag()
    return try await withTaskCancellationHandler {
      try await Blocking.run {
        var done = 0
        return try sha256(path) { bytes in
          if stop.isSet { throw CancellationError() }
          done += bytes
          onBytes(done)
        }
      }
    } onCancel: {
      stop.set()
    }
  }

  static func sha256(
    _ file: ReadOnlyFile, _ range: Range<Int>, onBytes: (Int) throws -> Void = { _ in }
  ) throws -> String? {
    var hash = SHA256Hash()
    var offset = range.lowerBound
    while offset < range.upperBound {
      let bytes = try file.bytes(at: offset, count: min(chunk, range.upperBound - offset))
      guard !bytes.isEmpty else { return nil }
      hash.update(bytes)
      offset += bytes.count
      try onBytes(bytes.count)
    }
    return Hexadecimal.text(hash.digest())
  }
}

/// Tells blocking work, which knows no task, that it is to stop.
final class StopFlag: Sendable {
  private let state = Mutex(false)
  var isSet: Bool { state.withLock { $0 } }
  func set() { state.withLock { $0 = true } }
}

/// Runs blocking work on the system's threads instead of Swift's few.
enum Blocking {
  /// Runs to its end even if the task is cancelled meanwhile, so that received data is recorded.
  static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try work() }) }
    }
  }
}
