import CSQLite

/// What a statement over a file from strangers may cost: a view may have rows without end, and a tile a gigabyte.
package struct SQLiteLimits: Sendable {
  /// Steps of SQLite's virtual machine for one run of a statement, from its first row to its last.
  package var steps: Int
  /// Bytes of a text, a blob or a row.
  package var valueBytes: Int

  package init(steps: Int, valueBytes: Int) { (self.steps, self.valueBytes) = (steps, valueBytes) }

  /// Statements of any file that nobody tampered with stay far below.
  private static let schemaLimits: [(limit: Int32, value: Int32)] = [
    (SQLITE_LIMIT_EXPR_DEPTH, 100), (SQLITE_LIMIT_COMPOUND_SELECT, 50), (SQLITE_LIMIT_VDBE_OP, 100_000),
    (SQLITE_LIMIT_FUNCTION_ARG, 16), (SQLITE_LIMIT_ATTACHED, 0), (SQLITE_LIMIT_TRIGGER_DEPTH, 10),
  ]

  /// Functions whose time grows with the product of their arguments' lengths, or worse. Each call is a single step.
  private static let slowFunctions: Set<String> = [
    "glob", "instr", "like", "ltrim", "replace", "rtrim", "trim",
  ]

  /// Limits what a schema may make of a short query (https://sqlite.org/security.html).
  func applySchemaLimits(to handle: OpaquePointer) {
    for (limit, value) in Self.schemaLimits { sqlite3_limit(handle, limit, value) }
    sqlite3_set_authorizer(
      handle,
      { _, action, _, function, _, _ in
        guard action == SQLITE_FUNCTION, let function else { return SQLITE_OK }
        return SQLiteLimits.slowFunctions.contains(String(cString: function).lowercased()) ? SQLITE_DENY : SQLITE_OK
      }, nil)
  }
}

/// Counts the steps of a connection's statements, each on its own, and ends those above the limit.
///
/// A step may be long, since a text of megabytes can be made in one. So the processor time of the thread counts as
/// steps too, but not the time that it waits for a disk. A ``Cancellation`` of the thread's work ends statements as
/// well.
@usableFromInline final class StepMeter {
  /// One run of a statement, from its start to the row that was read last.
  struct Run {
    var steps = 0
    /// True after the first row.
    var isContinued = false
  }

  /// SQLite calls back after so many steps, which take about 10 microseconds.
  private static let interval = 1000
  /// Fifty times what a simple step takes.
  private static let stepNanoseconds = 500
  /// A step to the next row that takes longer has the following ones timed.
  private static let quickRowSeconds = 0.001
  private static let timedRowCount = 64

  var limit: Int
  private(set) var isOverLimit = false
  /// Of the current run.
  private var steps = 0
  /// When steps were last counted; 0 when it is not known.
  private var countedAt = 0
  private var timedRows = 0

  init(_ limit: Int) { self.limit = limit }

  /// Makes SQLite call back. The connection keeps the meter.
  func watch(_ handle: OpaquePointer) {
    sqlite3_progress_handler(
      handle, Int32(Self.interval),
      { Unmanaged<StepMeter>.fromOpaque($0!).takeUnretainedValue().mayGoOn() ? 0 : 1 },
      Unmanaged.passUnretained(self).toOpaque())
  }

  /// Steps to the next row. Other statements may run between the rows of a run.
  func step(_ statement: OpaquePointer, _ run: inout Run) -> Int32 {
    begin(run)
    // A look-up has one row, which is not worth two looks at the clock.
    let start = run.isContinued ? MonotonicClock.seconds : 0
    var code = sqlite3_step(statement)
    if run.isContinued, code == SQLITE_ROW {
      if countedAt != 0, !mayGoOn(after: 0) { code = SQLITE_INTERRUPT }
      if MonotonicClock.seconds - start > Self.quickRowSeconds { timedRows = Self.timedRowCount }
    }
    run = code == SQLITE_ROW ? Run(steps: steps, isContinued: true) : Run()
    return code
  }

  /// Begins to count for a run, or for what is no statement's.
  func begin(_ run: Run = Run()) {
    steps = run.steps
    isOverLimit = false
    if run.isContinued, timedRows > 0 {
      timedRows -= 1
      countedAt = ThreadClock.nanoseconds
    } else {
      countedAt = 0
    }
  }

  /// Counts steps; false when the statement is to end.
  private func mayGoOn(after interval: Int = StepMeter.interval) -> Bool {
    let now = ThreadClock.nanoseconds
    steps += countedAt == 0 ? interval : max(interval, (now - countedAt) / Self.stepNanoseconds)
    countedAt = now
    isOverLimit = steps > limit
    return !isOverLimit && !Cancellation.isCancelled
  }

  var overLimit: SQLiteError {
    SQLiteError(code: SQLiteError.overBudget, message: "a query takes more than \(limit) steps")
  }
}
