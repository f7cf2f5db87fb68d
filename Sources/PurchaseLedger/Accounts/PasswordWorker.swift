import Foundation

/// Computes password hashes away from the threads of Swift's concurrency, few at a time: each takes 32 MB and a tenth of a second.
final class PasswordWorker: Sendable {
  private let queue: OperationQueue
  /// More callers than this are turned away: an attacker must not fill the memory with waiting passwords.
  private let waitingMax = 256

  init() {
    queue = OperationQueue()
    queue.name = "purchase-ledger.passwords"
    queue.maxConcurrentOperationCount = max(1, ProcessInfo.processInfo.activeProcessorCount / 2)
  }

  func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    guard queue.operationCount < waitingMax else {
      throw LedgerError(.busy, at: "", "too many people sign in at once; try again in a minute")
    }
    return try await withCheckedThrowingContinuation { continuation in
      queue.addOperation { continuation.resume(with: Result { try work() }) }
    }
  }
}
