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

  /// - Parameter isPreferred: goes before others, and has room of its own, so that strangers cannot keep it away.
  func run<Value: Sendable>(
    isPreferred: Bool = false, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    guard queue.operationCount < (isPreferred ? 2 * waitingMax : waitingMax) else {
      throw LedgerError(.busy, at: "", "too many people sign in at once; try again in a minute")
    }
    return try await withCheckedThrowingContinuation { continuation in
      let operation = BlockOperation { continuation.resume(with: Result { try work() }) }
      if isPreferred { operation.queuePriority = .high }
      queue.addOperation(operation)
    }
  }
}
