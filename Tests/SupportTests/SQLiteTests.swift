import CSQLite
import Foundation
import Support
import TestSupport
import Testing

/// The wrapper of SQLite.
@Suite struct SQLiteTests {
  private let folder: TemporaryFolder
  private let path: String
  private let connection: SQLiteConnection

  init() throws {
    folder = try TemporaryFolder()
    path = folder.file("a.sqlite")
    connection = try SQLiteConnection(creating: path)
    try connection.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a UNIQUE, b)")
  }

  private func values(_ connection: SQLiteConnection) throws -> [Int] {
    try connection.prepare("SELECT a FROM t ORDER BY a").all { $0.int(0) }
  }

  // MARK: Values

  @Test func integersAreBoundAndRead() throws {
    let select = try connection.prepare("SELECT ?, ?, ?, ?, ?")
    select.bind(1, Int64.min)
    select.bind(2, Int.max)
    select.bind(3, UInt8.max)
    select.bind(4, true)
    select.bind(5, nil as Int64?)
    #expect(try select.step())
    #expect(select.int64(0) == .min && select.int(1) == .max && select.int(2) == 255 && select.int(3) == 1)
    #expect(select.optionalInt64(4) == nil && select.int(4) == 0 && select.optionalInt64(2) == 255)
    #expect((0..<5).map { select.type($0) } == [.integer, .integer, .integer, .integer, .null])
    #expect(select.columnCount == 5)
  }

  @Test func numbersWithFractionsAreBoundAndRead() throws {
    let select = try connection.prepare("SELECT ? AS half")
    select.bind(1, 0.5)
    #expect(try select.first { ($0.double(0), $0.type(0)) } ?? (0, .null) == (0.5, .real))
  }

  @Test(arguments: ["", "a", "Zürich 東京 🗺", "a\0b", String(repeating: "long ", count: 10_000)])
  func textIsBoundAndRead(_ text: String) throws {
    let select = try connection.prepare("SELECT ?, typeof(?1)")
    select.bind(1, text)
    let found = try select.first { ($0.text(0), $0.optionalText(0), $0.text(1), Array($0.bytes(0))) }
    #expect(found?.0 == text && found?.1 == text && found?.2 == "text" && found?.3 == Array(text.utf8))
  }

  @Test(arguments: [[], [0], Array(repeating: 7, count: 100_000)] as [[UInt8]])
  func bytesAreBoundAndRead(_ bytes: [UInt8]) throws {
    let select = try connection.prepare("SELECT ?, typeof(?1)")
    select.bind(1, bytes)
    let copied = try select.first { ($0.blob(0), $0.optionalBlob(0), $0.text(1)) }
    #expect(copied?.0 == bytes && copied?.1 == bytes && copied?.2 == "blob")
    try bytes.withUnsafeBytes { raw in
      select.bind(1, uncopied: raw)
      let found = try select.first { ($0.blob(0), $0.text(1)) }
      #expect(found?.0 == bytes && found?.1 == "blob")
    }
  }

  @Test func nullIsReadAsNothing() throws {
    let select = try connection.prepare("SELECT ?, ?, ?")
    select.bind(1, nil as String?)
    select.bind(2, nil as [UInt8]?)
    select.bindNull(3)
    #expect(try select.step())
    for column in 0..<3 as Range<Int32> {
      #expect(select.isNull(column) && select.type(column) == .null)
      #expect(select.text(column).isEmpty && select.optionalText(column) == nil)
      #expect(select.blob(column).isEmpty && select.optionalBlob(column) == nil && select.bytes(column).isEmpty)
    }
  }

  @Test func textThatIsNoUTF8IsRepaired() throws {
    #expect(try connection.prepare("SELECT CAST(x'41ff42' AS TEXT)").first { $0.text(0) } == "A\u{fffd}B")
  }

  // MARK: Statements

  @Test func aCachedStatementIsCompiledOnceAndCleared() throws {
    let first = try connection.cached("SELECT ?")
    first.bind(1, 7)
    #expect(try first.step() && first.int(0) == 7)
    let second = try connection.cached("SELECT ?")
    #expect(first === second)
    #expect(try second.first { $0.isNull(0) } == true)
  }

  @Test func aCachedStatementRunsAgainAfterAnError() throws {
    for _ in 0..<2 {
      let insert = try connection.cached("INSERT INTO t (a) VALUES (?)")
      insert.bind(1, 1)
      try insert.run()
      #expect(insert.changes == 1 && connection.lastInsertedRowID == 1)
      #expect { try insert.run() } throws: { ($0 as? SQLiteError)?.primary == SQLITE_CONSTRAINT }
      insert.bind(1, 2)
      try insert.run()
      #expect(try values(connection) == [1, 2])
      try connection.execute("DELETE FROM t")
    }
  }

  /// The next run throws what binding could not do.
  @Test func anErrorOfBindingIsThrownByTheRun() throws {
    let insert = try connection.prepare("INSERT INTO t (a) VALUES (?)")
    insert.bind(2, 1)
    #expect { try insert.run() } throws: { ($0 as? SQLiteError)?.primary == SQLITE_RANGE }
    insert.bind(1, 1)
    try insert.run()
    #expect(try values(connection) == [1])
  }

  @Test func aStatementFollowsAChangeOfTheTable() throws {
    let select = try connection.cached("SELECT * FROM t")
    #expect(try select.first { $0.columnCount } == nil)
    let other = try SQLiteConnection(creating: path)
    try other.execute("ALTER TABLE t ADD COLUMN c; INSERT INTO t VALUES (1, 2, 3)")
    #expect(try connection.cached("SELECT * FROM t").first { $0.columnCount } == 3)
  }

  @Test func textThatIsNoStatementIsRefused() throws {
    #expect(throws: SQLiteError.self) { try connection.prepare("SELEC 1") }
    #expect(throws: SQLiteError.self) { try connection.cached("") }
    #expect(throws: SQLiteError.self) { try connection.execute("INSERT INTO none VALUES (1)") }
  }

  private static let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"

  @Test func statementsAboveALimitOfStepsEnd() throws {
    #expect {
      try connection.limitingSteps(to: 10_000) { try connection.prepare("\(Self.endless) count(*) FROM n").run() }
    } throws: {
      ($0 as? SQLiteError)?.isOverBudget == true
    }
    let one = try connection.limitingSteps(to: 10_000) { try connection.prepare("SELECT 1").first { $0.int(0) } }
    #expect(one == 1)
    let many = try connection.prepare("\(Self.endless) i FROM n LIMIT 5000").all { $0.int(0) }
    #expect(many.count == 5000)
  }

  @Test func stepsAreCountedForEachRunOfAStatement() throws {
    connection.setLimits(SQLiteLimits(steps: 50_000, valueBytes: 1000))
    let rows = try connection.prepare("\(Self.endless) i FROM n")
    let single = try connection.prepare("SELECT ?1")
    var count = 0
    #expect {
      while try rows.step() {
        count += 1
        // What runs between the rows neither counts nor begins the count again.
        single.bind(1, count)
        #expect(try single.first { $0.int(0) } == count)
      }
    } throws: { ($0 as? SQLiteError)?.isOverBudget == true }
    #expect((1000..<50_000).contains(count))
    // A reset begins again.
    for _ in 0..<20 {
      for _ in 0..<(count / 2) { #expect(try rows.step()) }
      rows.reset()
    }
  }

  @Test("Few steps that take long are above the limit too", arguments: [true, false])
  func longStepsCount(hasRows: Bool) throws {
    connection.setLimits(SQLiteLimits(steps: 2_000_000, valueBytes: 64 << 20))
    // Each row copies and hashes megabytes; there are 300,000 before the limit of plain steps.
    let condition = "length(hex(zeroblob(1000000 + i % 2))) \(hasRows ? ">" : "<") 0"
    let rows = try connection.prepare("\(Self.endless) i FROM n WHERE \(condition)")
    var count = 0
    #expect { while try rows.step() { count += 1 } } throws: { ($0 as? SQLiteError)?.isOverBudget == true }
    #expect(count < 100_000)
  }

  /// A disk that answers late costs no steps, however long it takes.
  @Test func waitingCostsNothing() throws {
    #expect(
      sqlite3_create_function(
        connection.handle, "wait", 0, SQLITE_UTF8, nil,
        { context, _, _ in
          usleep(50_000)
          sqlite3_result_int(context, 1)
        }, nil, nil) == SQLITE_OK)
    // A second of waiting would be two million steps by the clock on the wall.
    connection.setLimits(SQLiteLimits(steps: 300_000, valueBytes: 1000))
    let rows = try connection.prepare("\(Self.endless) wait() FROM n LIMIT 20").all { $0.int(0) }
    #expect(rows.count == 20)
    let sum = try connection.prepare("SELECT sum(w) FROM (\(Self.endless) wait() AS w FROM n LIMIT 20)")
    #expect(try sum.first { $0.int(0) } == 20)
  }

  @Test func valuesAboveALimitAreRefused() throws {
    connection.setLimits(SQLiteLimits(steps: 1_000_000, valueBytes: 100_000))
    #expect { try connection.prepare("SELECT zeroblob(900000000)").run() } throws: {
      ($0 as? SQLiteError)?.isTooBig == true
    }
    try connection.execute("INSERT INTO t (a) VALUES (zeroblob(50000))")
    let select = try connection.prepare("SELECT a FROM t WHERE length(a) = 50000")
    #expect {
      _ = try connection.limitingValues(to: 10_000) { try select.first { $0.bytes(0).count } }
    } throws: {
      ($0 as? SQLiteError)?.isTooBig == true
    }
    #expect(try select.first { $0.bytes(0).count } == 50_000)
  }

  @Test("Functions of unbounded time are refused where limits are set", arguments: ["instr(a, b)", "a LIKE b"])
  func slowFunctionsAreRefused(expression: String) throws {
    try connection.execute("CREATE TABLE s (a, b)")
    _ = try connection.prepare("SELECT \(expression) FROM s")
    connection.setLimits(SQLiteLimits(steps: 1_000_000, valueBytes: 100_000))
    #expect(throws: SQLiteError.self) { _ = try connection.prepare("SELECT \(expression) FROM s") }
    _ = try connection.prepare("SELECT lower(a), length(b), substr(a, 1, 2) FROM s")
  }

  @Test func aCancellationEndsStatements() throws {
    let cancellation = Cancellation()
    connection.setLimits(SQLiteLimits(steps: .max, valueBytes: 1000))
    Thread.detachNewThread { cancellation.cancel() }
    #expect { try cancellation.run { try connection.prepare("\(Self.endless) count(*) FROM n").run() } } throws: {
      ($0 as? SQLiteError)?.isInterrupted == true
    }
    let many = try connection.prepare("\(Self.endless) i FROM n LIMIT 5000").all { $0.int(0) }
    #expect(many.count == 5000)
  }

  // MARK: Transactions

  private struct Failure: Error {}

  @Test(arguments: [.deferred, .immediate, .savepoint] as [SQLiteConnection.TransactionKind])
  func aTransactionIsCommittedOrRolledBack(_ kind: SQLiteConnection.TransactionKind) throws {
    try connection.transaction(kind) { try connection.execute("INSERT INTO t (a) VALUES (1)") }
    #expect(throws: Failure.self) {
      try connection.transaction(kind) {
        try connection.execute("INSERT INTO t (a) VALUES (2)")
        throw Failure()
      }
    }
    #expect(!connection.isInTransaction)
    #expect(try values(connection) == [1])
  }

  @Test func aNestedSavepointIsRolledBackByItself() throws {
    try connection.transaction(.immediate) {
      try connection.execute("INSERT INTO t (a) VALUES (1)")
      #expect(throws: Failure.self) {
        try connection.transaction(.savepoint) {
          try connection.execute("INSERT INTO t (a) VALUES (2)")
          try connection.transaction(.savepoint) { try connection.execute("INSERT INTO t (a) VALUES (3)") }
          throw Failure()
        }
      }
      try connection.transaction(.savepoint) { try connection.execute("INSERT INTO t (a) VALUES (4)") }
    }
    #expect(try values(connection) == [1, 4])
  }

  @Test func aFailedCommitIsRolledBack() throws {
    try connection.execute(
      """
      PRAGMA foreign_keys = ON; CREATE TABLE parent (id INTEGER PRIMARY KEY);
      CREATE TABLE child (parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)
      """)
    #expect {
      try connection.transaction(.immediate) { try connection.execute("INSERT INTO child VALUES (1)") }
    } throws: {
      ($0 as? SQLiteError)?.primary == SQLITE_CONSTRAINT
    }
    #expect(!connection.isInTransaction)
    #expect(try connection.prepare("SELECT count(*) FROM child").first { $0.int(0) } == 0)
  }

  /// An error that has ended the transaction already is thrown as it is.
  @Test func aTransactionThatEndedByItselfIsNotRolledBackTwice() throws {
    try connection.execute("INSERT INTO t (a) VALUES (1)")
    #expect {
      try connection.transaction(.immediate) { try connection.execute("INSERT OR ROLLBACK INTO t (a) VALUES (1)") }
    } throws: { ($0 as? SQLiteError)?.primary == SQLITE_CONSTRAINT }
    #expect(!connection.isInTransaction)
  }

  @Test func aReadTransactionSeesOneState() throws {
    let other = try SQLiteConnection(creating: path)
    try connection.transaction(.deferred) {
      #expect(try values(connection).isEmpty)
      try other.execute("INSERT INTO t (a) VALUES (1)")
      #expect(try values(connection).isEmpty)
    }
    #expect(try values(connection) == [1])
  }

  /// A statement left in the middle of its rows would keep the old state.
  @Test func aTransactionEndsItsStatements() throws {
    try connection.execute("INSERT INTO t (a) VALUES (1), (2)")
    let other = try SQLiteConnection(creating: path)
    let select = try connection.transaction(.deferred) {
      let select = try connection.cached("SELECT a FROM t")
      #expect(try select.step())
      return select
    }
    try other.execute("INSERT INTO t (a) VALUES (3)")
    #expect(try values(connection) == [1, 2, 3])
    withExtendedLifetime(select) {}
  }

  @Test func aSecondWriterFailsAfterItsTimeout() throws {
    let other = try SQLiteConnection(creating: path)
    other.setBusyTimeout(milliseconds: 10)
    try connection.transaction(.immediate) {
      #expect { try other.transaction(.immediate) {} } throws: { ($0 as? SQLiteError)?.isBusy == true }
      #expect(!other.isInTransaction)
    }
    try other.transaction(.immediate) {}
  }

  // MARK: The file

  @Test func aCheckpointEmptiesTheLogUnlessSomebodyReads() throws {
    try connection.execute("INSERT INTO t (a) VALUES (1)")
    let reader = try SQLiteConnection(creating: path)
    connection.setBusyTimeout(milliseconds: 0)
    try reader.transaction(.deferred) {
      #expect(try values(reader) == [1])
      try connection.execute("INSERT INTO t (a) VALUES (2)")
      #expect { try connection.checkpoint(.truncate) } throws: { ($0 as? SQLiteError)?.isBusy == true }
      try connection.checkpoint(.passive)
    }
    try connection.checkpoint(.truncate)
    #expect(try folder.bytes("a.sqlite-wal").isEmpty)
  }

  @Test func aBackupHasTheStateOfItsTransaction() throws {
    try connection.execute(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO t SELECT i, zeroblob(1000) FROM n
      """)
    let other = try SQLiteConnection(creating: path)
    let target = try SQLiteConnection(creating: folder.file("b.sqlite"))
    var steps: [(Int, Int)] = []
    try connection.transaction(.deferred) {
      #expect(try values(connection).count == 1000)
      try connection.backup(to: target, pagesPerStep: 50) { done, total in
        if steps.isEmpty { try other.execute("DELETE FROM t") }
        steps.append((done, total))
      }
    }
    #expect(try values(target).count == 1000 && values(connection).isEmpty)
    #expect(steps.count > 2 && steps.last.map { $0.0 == $0.1 } == true && steps.first?.0 == 50)
    #expect(throws: Failure.self) { try connection.backup(to: target, pagesPerStep: 1) { _, _ in throw Failure() } }
    #expect { try connection.backup(to: connection, pagesPerStep: 1) { _, _ in } } throws: { $0 is SQLiteError }
    try target.close()
  }

  @Test func aClosedFileIsWholeByItself() throws {
    try connection.execute("INSERT INTO t (a) VALUES (1)")
    _ = try connection.cached("SELECT a FROM t").step()
    let select = try connection.prepare("SELECT 1")
    // A statement in use keeps it open.
    #expect(throws: SQLiteError.self) { try connection.close() }
    #expect(try select.step())
    let other = try SQLiteConnection(creating: path)
    #expect(try values(other) == [1])
    try other.close()
    #expect(folder.names.contains("a.sqlite"))
  }

  @Test(arguments: ["a b.sqlite", "50%.sqlite", "a?b#c.sqlite", "Zürich.sqlite"])
  func everyNameCanBeOpened(_ name: String) throws {
    try SQLiteConnection(creating: folder.file(name)).execute("CREATE TABLE t (a)")
    #expect(folder.names.contains(name))
    let uri = SQLiteConnection.uri(path: folder.file(name), parameters: ["mode=ro"])
    let reader = try SQLiteConnection(uri: uri, flags: SQLITE_OPEN_READONLY)
    #expect { try reader.execute("DELETE FROM t") } throws: { ($0 as? SQLiteError)?.primary == SQLITE_READONLY }
  }

  @Test func aMissingFileIsAnError() throws {
    #expect {
      try SQLiteConnection(uri: folder.file("none/a.sqlite"), flags: SQLITE_OPEN_READONLY)
    } throws: { ($0 as? SQLiteError)?.primary == SQLITE_CANTOPEN && "\($0)".contains("unable to open") }
  }
}
