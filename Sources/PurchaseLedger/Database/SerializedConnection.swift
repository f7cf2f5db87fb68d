import CSQLite
import Dispatch
import Support

/// A connection for all threads: one at a time uses it, in the order in which they ask.
///
/// Unchecked, because the connection is used on the queue only.
final class SerializedConnection: @unchecked Sendable {
  private let queue = DispatchQueue(label: "purchase-ledger.database")
  /// Nil after `close`.
  private var connection: SQLiteConnection?

  init(_ connection: sending SQLiteConnection) { self.connection = connection }

  /// Runs `work` in a transaction that has the write lock, which is rolled back if `work` throws. Blocks the calling
  /// thread meanwhile.
  func write<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    try withoutTransaction { connection in try connection.transaction(.immediate) { try work(connection) } }
  }

  /// Runs `work` in a read transaction.
  func read<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    try withoutTransaction { connection in try connection.transaction(.deferred) { try work(connection) } }
  }

  /// Runs `work` outside a transaction. It must leave none open.
  func withoutTransaction<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    try queue.sync { try use(work) }
  }

  /// The same without blocking the calling thread.
  func withoutTransaction<Value: Sendable>(
    _ work: @escaping @Sendable (SQLiteConnection) throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try self.use(work) }) }
    }
  }

  private func use<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    guard let connection else { throw Self.closed }
    defer { precondition(!connection.isInTransaction, "a transaction was left open") }
    return try work(connection)
  }

  /// Closes the file after the work that was asked for before. Every later use fails.
  func close() {
    queue.sync {
      try? connection?.close()
      connection = nil
    }
  }

  static let closed = SQLiteError(code: SQLITE_MISUSE, message: "Connection is closed")
}
