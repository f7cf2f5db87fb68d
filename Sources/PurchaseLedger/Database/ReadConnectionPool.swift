import CSQLite
import Support
import Synchronization

/// A pool of read-only connections to the ledger's file.
///
/// Any thread may read at any time; the pool keeps as many connections as were in use at once.
final class ReadConnectionPool: Sendable {
  private struct Idle {
    var connections: [Pooled] = []
    var isClosed = false
  }

  /// Unchecked, because one thread at a time uses the connection: the one that took it from the pool.
  private struct Pooled: @unchecked Sendable {
    let connection: SQLiteConnection
  }

  private let path: String
  private let files: OpenedFiles
  private let isMapped: Bool
  private let idle = Mutex(Idle())

  /// - Parameter isMapped: Reads through a memory map: for queries that touch few pages all over the file, for which a
  ///   cache per connection rarely hits. A scan would count the whole file as the process's memory.
  init(path: String, files: OpenedFiles, isMapped: Bool) {
    self.path = path
    self.files = files
    self.isMapped = isMapped
  }

  /// Closes the connections. Every later use fails.
  func close() {
    idle.withLock { idle in
      idle.connections.removeAll()
      idle.isClosed = true
    }
  }

  /// Runs `work` with a connection of its own. Each statement sees the last commit at its start.
  func read<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    let pooled = try idle.withLock { idle in
      if idle.isClosed { throw SerializedConnection.closed }
      return idle.connections.popLast()
    }
    let used = try pooled ?? opened()
    defer {
      idle.withLock { idle in
        if !idle.isClosed { idle.connections.append(used) }
      }
    }
    return try work(used.connection)
  }

  /// Runs `work` in a read transaction: all its statements see the same commit.
  func readTransaction<Value>(_ work: (SQLiteConnection) throws -> Value) throws -> Value {
    try read { connection in try connection.transaction(.deferred) { try work(connection) } }
  }

  private func opened() throws -> Pooled {
    let connection = try SQLiteConnection(uri: LedgerDatabase.nameToRead(path), flags: SQLITE_OPEN_READONLY)
    connection.setBusyTimeout(milliseconds: LedgerDatabase.patience)
    try connection.execute("PRAGMA cache_size = -16384")
    // It is safe because the file never shrinks while it is open.
    if isMapped { try connection.execute("PRAGMA mmap_size = \(1 << 34)") }
    try LedgerSchema.adapt(connection)
    // The path may name another file by now.
    try files.check()
    return Pooled(connection: connection)
  }
}
