import CSQLite
import Support

extension LedgerStatus {
  /// Reads the state of a ledger. Records nothing, waits for no writer, and reads older versions of the file too.
  ///
  /// - Parameter stores: Those that should be pulled even while nothing was bought there.
  /// - Throws: `LedgerError` if there is no ledger or it cannot be read.
  package static func read(
    _ path: String, clock: LedgerClock, expecting stores: Set<Store> = [], limits: StatusLimits = StatusLimits()
  ) throws -> LedgerStatus {
    var status = LedgerStatus()
    status.path = path
    status.now = clock.now()
    try LedgerDatabase.reporting(path) {
      let db = try LedgerDatabase.openToReport(at: path)
      // One transaction: all figures are of one commit.
      try db.transaction(.deferred) { try StatusReader(db: db, expected: stores).fill(&status) }
      try db.close()
    }
    status.measureFiles()
    status.conditions = status.judged(by: limits)
    return status
  }

  private mutating func measureFiles() {
    fileBytes = FileSystem.size(path)
    logBytes = FileSystem.size(FileSystem.resolvingLinks(path) + "-wal")
    spoolBytes = (try? FileSystem.status(EvidenceSpool.path(of: path)))?.bytes
    freeBytes = try? FileSystem.freeBytes(path)
  }
}

/// The queries of `status`, within one read transaction.
private struct StatusReader {
  let db: SQLiteConnection
  let expected: Set<Store>

  func fill(_ status: inout LedgerStatus) throws {
    status.schemaVersion = try number("PRAGMA user_version") ?? 0
    status.environment = try EvidenceRecorder.policy(db).environment
    status.feeds = try feeds(status.environment)
    status.unacknowledged = Int(
      try number("SELECT count(*) FROM store_transaction WHERE \(LedgerSchema.isUnacknowledged)") ?? 0)
    status.acknowledgeBy = try number(
      "SELECT min(purchase_date) FROM store_transaction WHERE \(LedgerSchema.isUnacknowledged)"
    ).map(QuestionQueue.deadline(ofPurchaseAt:))
    status.lookups = Int(try number("SELECT count(*) FROM lookup") ?? 0)
    status.lookupSince = try number("SELECT min(asked_at) FROM lookup")
    // A file of version 3 has no such table.
    if try number("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'failed_question'") == 1 {
      status.failures = Int(try number("SELECT count(*) FROM failed_question") ?? 0)
      status.failuresGivenUp = Int(try number("SELECT count(*) FROM failed_question WHERE next_at IS NULL") ?? 0)
      status.nextTry = try number("SELECT min(next_at) FROM failed_question")
    }
    let refunds = try RefundQuestion.open(db, at: status.now)
    (status.refunds, status.refundsUntil) = (refunds.count, refunds.first?.dueAt)
    status.quarantined = Int(try number("SELECT count(*) FROM evidence WHERE outcome = 2") ?? 0)
    status.quarantinedSince = try number("SELECT min(received_at) FROM evidence WHERE outcome = 2")
    status.unpriced = try UnpricedSales(db).count()
    status.unowned = Int(
      try number(
        """
        SELECT count(*) FROM entitlement WHERE account IS NULL AND status = \(Entitlement.Status.active.rawValue)
          AND environment = \(status.environment.code ?? 0)
        """) ?? 0)
    status.reconciled = try lastRun(LastRunNote.reconcile)
    status.backedUp = try lastRun(LastRunNote.backup)
    status.restoredFrom = try Snapshot.cursor(Ledger.backupMade, db).flatMap { Int64($0.value) }
    let head = try EventWriter.head(db)
    (status.events, status.head) = (head.seq, head.hash.hexadecimal)
    status.firstEventAt = try number("SELECT recorded_at FROM event ORDER BY seq LIMIT 1")
    status.lastEventAt = try number("SELECT recorded_at FROM event ORDER BY seq DESC LIMIT 1")
  }

  /// Stores and environments that were pulled or have transactions, or are configured.
  private func feeds(_ own: StoreEnvironment) throws -> [LedgerStatus.Feed] {
    let others = try StoreQuestion.otherApps(db)
    return try Store.allCases.flatMap { store in
      try [StoreEnvironment.production, .sandbox].flatMap { environment in
        let apps: [String?] = [nil] + others.filter { $0.store == store }.map { $0.app }
        return try apps.compactMap { try feed(of: store, environment, app: $0, own, apps.count > 1) }
      }
    }
  }

  /// - Parameter isOneOfSeveral: Whether the store has other apps too.
  private func feed(
    of store: Store, _ environment: StoreEnvironment, app: String?, _ own: StoreEnvironment, _ isOneOfSeveral: Bool
  ) throws -> LedgerStatus.Feed? {
    let code = environment.code ?? 0
    var feed = LedgerStatus.Feed(store: store, environment: environment, app: app)
    let ofApp = """
      AND (SELECT value FROM trait AS t WHERE t.store = s.store AND t.environment = s.environment
        AND t.transaction_id = s.transaction_id AND t.name = 'app') \(app == nil ? "IS NULL" : "= ?")
      """
    let count = try db.prepare(
      """
      SELECT count(*) FROM store_transaction AS s WHERE s.store = \(store.code) AND s.environment = \(code)
      \(isOneOfSeveral ? ofApp : "")
      """)
    if let app { count.bind(1, app) }
    feed.transactions = try count.first { $0.int(0) } ?? 0
    let window = try Snapshot.cursor(store.feedCursor(in: environment, of: app), db)
    if let window = window.flatMap({ NotificationWindow($0.value) }) {
      (feed.windowStart, feed.windowEnd) = (window.start, window.end)
      feed.isUnfinished = window.page != nil
    }
    feed.pulledAt = window?.updatedAt
    // What concerns the whole store is said with its first app.
    if app == nil {
      let scope = try Snapshot.cursor(Snapshot.scope(store.code, code), db)
      if scope?.value == Snapshot.whole { feed.coveredAt = scope?.updatedAt }
      feed.pulledAt = [scope?.updatedAt, window?.updatedAt].compactMap(\.self).max()
      feed.lostSince = try Snapshot.lostWindow(of: store, environment, db)?.from
      if let clock = try Snapshot.cursor("clock.\(store.rawValue).\(environment.rawValue)", db), feed.pulledAt != nil {
        feed.clockMilliseconds = Int64(clock.value)
      }
    }
    let isExpected = environment == own && app == nil && expected.contains(store)
    return feed.pulledAt != nil || feed.transactions > 0 || isExpected ? feed : nil
  }

  private func lastRun(_ name: String) throws -> LedgerStatus.LastRun? {
    guard let row = try Snapshot.cursor(name, db) else { return nil }
    let note = LastRunNote(row.value)
    return .init(at: row.updatedAt, remaining: note.remaining, isClean: note.isClean)
  }

  private func number(_ sql: String) throws -> Int64? {
    try db.prepare(sql).first { $0.optionalInt64(0) } ?? nil
  }
}
