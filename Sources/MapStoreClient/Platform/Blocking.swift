import NIOPosix

/// Work that waits for the disk, away from Swift's few threads.
enum Blocking {
  /// Runs to its end also when the task is cancelled meanwhile: what was received is to be recorded.
  static func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      NIOThreadPool.singleton.submit { state in
        guard state == .active else { return continuation.resume(throwing: CancellationError()) }
        continuation.resume(with: Result { try work() })
      }
    }
  }
}
