import Support

/// Compares the snapshot of the store's transactions with the ledger and records what is missing
/// (docs/explanation/ledger.md, Reconciliation).
package struct Reconciler: Sendable {
  let ledger: Ledger
  private let snapshot: Snapshot
  private let unread: Int
  private let ageMax: Int64

  /// How old pulled records may be: a nightly pull may be late by a day.
  package static let ageMaxDefault: Int64 = 2 * 86_400_000

  /// A comparison of a ledger with what a store has.
  ///
  /// - Parameters:
  ///   - snapshot: The store's transactions; by default those that were pulled.
  ///   - unread: The number of pieces of an export that could not be read. If it is not 0 the result is never
  ///     agreement.
  ///   - ageMax: The age of pulled records, in milliseconds, above which the result is never agreement. The age of an
  ///     export is not known.
  package init(ledger: Ledger, snapshot: Snapshot? = nil, unread: Int = 0, ageMax: Int64 = Self.ageMaxDefault) {
    self.ledger = ledger
    self.ageMax = ageMax
    self.unread = unread
    self.snapshot = snapshot ?? Snapshot(of: ledger)
  }

  /// Compares both sides by a merge of two ordered cursors. `each` receives the differences in the order store,
  /// environment, id; quarantined evidence comes last.
  ///
  /// With `apply` the store's facts are recorded in batches, and `each` receives a difference after its commit. If the
  /// process is killed the next run finds the remaining differences.
  ///
  /// - Parameter progress: Receives the number of rows compared, and the total; counting the total costs a query for
  ///   each store.
  /// - Complexity: O(rows of both sides), in constant memory.
  package func run(
    apply: Bool, each: (ReconcileLine) throws -> Void = { _ in }, progress: ((Int, Int) -> Void)? = nil
  ) throws -> ReconcileReport {
    var report = ReconcileReport()
    report.unread = unread
    let corrections = apply ? try Corrections(ledger, isApart: snapshot.isApart) : nil
    // One read transaction for all cursors, which therefore do not see what this run records.
    try ledger.read { ours in
      try snapshot.read(beside: ours) { theirs in
        try compare(ours, theirs, corrections, &report, each: each, progress: progress)
      }
    }
    if let corrections {
      try corrections.finish(windowLost: report.windowLostStore == .google, each: each)
      report.applied = corrections.applied
    }
    return report
  }

  private func compare(
    _ ours: SQLiteConnection, _ theirs: SQLiteConnection, _ corrections: Corrections?, _ report: inout ReconcileReport,
    each: (ReconcileLine) throws -> Void, progress: ((Int, Int) -> Void)?
  ) throws {
    report.scopes = try scopes(theirs)
    report.comparedAt = ledger.clock.now()
    report.lastEventAt = try ours.cached("SELECT recorded_at FROM event ORDER BY seq DESC LIMIT 1").first {
      $0.int64(0)
    }
    if !snapshot.isApart {
      report.unknowns = try ReconcileUnknowns(ours, now: report.comparedAt, ageMax: ageMax).find(in: report.scopes)
    }
    let total = progress == nil ? 0 : try Self.count(ours, theirs, report.scopes)
    let details = try ReconcileDetails(ours, theirs)
    var (looked, matched) = (0, 0)
    for scope in report.scopes {
      let (store, environment) = (scope.store.code, scope.environment.code ?? 0)
      try SnapshotMerge(ours: ours, theirs: theirs, store: store, environment: environment).run { step in
        looked += 1
        if looked % 65_536 == 0 { progress?(looked, total) }
        let line: ReconcileLine?
        switch step {
        case .matched:
          matched += 1
          return
        case .differs(let id):
          line = try details.difference(RowKey(store: store, environment: environment, id: id))
          if line == nil { report.staleSnapshots += 1 }
        case .storeOnly(let id):
          line = try details.storeOnly(RowKey(store: store, environment: environment, id: id))
        case .ownOnly(let id):
          guard let coveredAt = scope.coveredAt else {
            report.notPulled += 1
            return
          }
          let key = RowKey(store: store, environment: environment, id: id)
          switch try details.ownOnly(key, coveredAt: coveredAt) {
          case .missing(let missing): line = missing
          case .ordered: line = nil
          case .waiting: return
          case .unasked:
            report.notPulled += 1
            return
          }
        }
        report.count(line?.class ?? .matched)
        guard let line else { return }
        if line.class == .stateDiffers {
          if line.isUnstated {
            report.unstated += 1
          } else if line.isKept || !line.isSettled {
            report.kept += 1
          }
          if corrections != nil, !line.isKept, !line.isSettled { report.unsettled += 1 }
        }
        guard let corrections else { return try each(line) }
        try corrections.add(line, details, each: each)
      }
    }
    report.count(.matched, matched)
    try details.quarantined { line, sha256 in
      report.count(.quarantined)
      guard let corrections else { return try each(line) }
      try corrections.add(line, details, quarantined: sha256, each: each)
    }
    // An export does not depend on the feeds of stores that it names nothing of.
    for store in Store.allCases where !snapshot.isApart || report.scopes.contains(where: { $0.store == store }) {
      guard let since = try Self.lostWindow(of: store, ours, now: ledger.clock.now()) else { continue }
      (report.windowLostSince, report.windowLostStore) = (since, store)
    }
    progress?(total, total)
  }

  /// The stores and environments of which something was pulled, also if the answer was empty.
  private func scopes(_ db: SQLiteConnection) throws -> [ReconcileReport.Scope] {
    try Store.allCases.flatMap { store in
      try [StoreEnvironment.production, .sandbox].compactMap { environment in
        let marked = try Snapshot.cursor(Snapshot.scope(store.code, environment.code ?? 0), db)
        let feed = try Snapshot.cursor(store.feedCursor(in: environment), db)
        guard let updatedAt = marked?.updatedAt ?? feed?.updatedAt else { return nil }
        let window = feed.flatMap { NotificationWindow($0.value) }
        // Pages of an unfinished window are read; what they reach is not known before the last.
        let windowEnd = window.map { $0.page == nil ? $0.end : $0.start }
        let coveredAt = marked?.value == Snapshot.whole ? updatedAt : nil
        let readTo = [windowEnd, coveredAt].compactMap(\.self).max() ?? updatedAt
        return ReconcileReport.Scope(
          store: store, environment: environment, coveredAt: coveredAt,
          readTo: snapshot.isApart ? nil : readTo)
      }
    }
  }

  /// The total for progress: the number of rows of the larger side of each scope.
  private static func count(
    _ ours: SQLiteConnection, _ theirs: SQLiteConnection, _ scopes: [ReconcileReport.Scope]
  ) throws -> Int {
    var total = 0
    for scope in scopes {
      let counts = try [(theirs, "store_snapshot"), (ours, "store_transaction")].map { db, table in
        let select = try db.cached("SELECT count(*) FROM \(table) WHERE store = ? AND environment = ?")
        select.bind(1, scope.store.code)
        select.bind(2, scope.environment.code ?? 0)
        return try select.first { Int($0.int64(0)) } ?? 0
      }
      total += counts.max() ?? 0
    }
    return total
  }

  /// Since when the feed of a store has a gap: one that a pull found, or that the next will find.
  private static func lostWindow(of store: Store, _ db: SQLiteConnection, now: Int64) throws -> Int64? {
    for environment in [StoreEnvironment.production, .sandbox] {
      if let lost = try Snapshot.lostWindow(of: store, environment, db) { return lost.from }
      guard let feed = try Snapshot.cursor(store.feedCursor(in: environment), db) else { continue }
      let answered = NotificationWindow(feed.value).map(\.answeredTo) ?? feed.updatedAt
      if answered < now - store.feedKept(in: environment) { return answered }
    }
    return nil
  }
}

/// Merges the snapshot and the ledger's transactions of one store and environment in the order of their ids.
///
/// - Complexity: O(rows) time, constant memory: of matching rows only id, digest and token are compared, in SQLite's
///   buffers.
struct SnapshotMerge {
  enum Step {
    case matched
    case differs(String)
    case storeOnly(String)
    case ownOnly(String)
  }

  private let theirs: SQLiteStatement
  private let ours: SQLiteStatement

  init(ours: SQLiteConnection, theirs: SQLiteConnection, store: UInt8, environment: UInt8) throws {
    func select(_ db: SQLiteConnection, _ table: String) throws -> SQLiteStatement {
      let statement = try db.cached(
        """
        SELECT transaction_id, digest, token FROM \(table) WHERE store = ? AND environment = ? ORDER BY transaction_id
        """)
      statement.bind(1, store)
      statement.bind(2, environment)
      return statement
    }
    self.theirs = try select(theirs, "store_snapshot")
    self.ours = try select(ours, "store_transaction")
  }

  func run(_ body: (Step) throws -> Void) throws {
    defer {
      theirs.reset()
      ours.reset()
    }
    var hasTheirs = try theirs.step()
    var hasOurs = try ours.step()
    while hasTheirs || hasOurs {
      let order = !hasTheirs ? 1 : !hasOurs ? -1 : SQLiteStatement.order(theirs.bytes(0), ours.bytes(0))
      if order < 0 {
        try body(.storeOnly(theirs.text(0)))
      } else if order > 0 {
        try body(.ownOnly(ours.text(0)))
      } else if agree {
        try body(.matched)
      } else {
        try body(.differs(ours.text(0)))
      }
      if order <= 0 { hasTheirs = try theirs.step() }
      if order >= 0 { hasOurs = try ours.step() }
    }
  }

  /// Whether the digests are equal and the store names no other account token.
  private var agree: Bool {
    SQLiteStatement.order(theirs.bytes(1), ours.bytes(1)) == 0
      && (theirs.isNull(2) || SQLiteStatement.order(theirs.bytes(2), ours.bytes(2)) == 0)
  }
}
