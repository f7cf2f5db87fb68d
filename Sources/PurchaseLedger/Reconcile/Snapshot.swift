import Crypto
import Support

/// The store's list of transactions, verified but not recorded, with which `reconcile` compares the ledger.
///
/// Pulled transactions are in the ledger's file, with the cursors of the pull. An export is in a temporary database of
/// its own, so that reading it does not change what was pulled.
package struct Snapshot: SnapshotSink {
  private let place: Place

  private enum Place: Sendable {
    case ledger(Ledger)
    case apart(SerializedConnection, LedgerClock)
  }

  /// The snapshot in a ledger's file.
  package init(of ledger: Ledger) { place = .ledger(ledger) }

  /// An empty snapshot in a temporary database.
  ///
  /// - Throws: `LedgerError` if the folder for temporary files is not writable.
  package init(apartFrom ledger: Ledger) throws {
    place = try LedgerDatabase.reporting("the folder for temporary files") {
      let queue = try LedgerDatabase.scratch()
      try queue.write { db in
        try LedgerSchema.createPrimary(db)
        try LedgerSchema.createProjections(db)
      }
      return .apart(queue, ledger.clock)
    }
  }

  /// Whether the snapshot is outside the ledger's file.
  var isApart: Bool { if case .apart = place { true } else { false } }

  private func write<Value>(_ work: (EvidenceRecorder) throws -> Value) throws -> Value {
    switch place {
    case .ledger(let ledger): return try ledger.write(work)
    case .apart(let queue, let clock):
      return try LedgerDatabase.reporting("the folder for temporary files") {
        try queue.write { db in try work(EvidenceRecorder(db, now: clock.now())) }
      }
    }
  }

  /// Runs `work` in a read transaction of the snapshot.
  ///
  /// - Parameter ledger: The open read transaction of the ledger, which is used if the snapshot is in the ledger's
  ///   file.
  func read<Value>(beside ledger: SQLiteConnection, _ work: (SQLiteConnection) throws -> Value) throws -> Value {
    switch place {
    case .ledger: try work(ledger)
    case .apart(let queue, _): try queue.read(work)
    }
  }

  /// Stores a page with its evidence; facts about one transaction are joined, as in the projections.
  package func store(_ page: SnapshotPage) throws {
    let pieces = Self.prepared(page)
    try write { [isApart] in try Self.store(page, pieces, $0, isApart: isApart) }
  }

  /// The same, and records facts about transactions of the ledger.
  ///
  /// - Parameter isRecorded: Whether a fact about a recorded transaction is recorded at once.
  func store(
    _ page: SnapshotPage, recording isRecorded: (StoreTransaction, TransactionRow) -> Bool
  ) throws {
    let pieces = Self.prepared(page)
    try write { recorder in
      try Self.store(page, pieces, recorder)
      for piece in pieces where !piece.isWaiting {
        for fact in piece.facts {
          guard let row = try recorder.projections.row(fact.row.key), isRecorded(fact.transaction, row) else {
            continue
          }
          _ = try recorder.book([fact], evidence: piece.sha256)
        }
      }
    }
  }

  static func prepared(_ page: SnapshotPage) -> [PreparedEvidence] {
    page.evidence.map { entry in
      PreparedEvidence(Submission(evidence: entry.bytes, channel: .operatorImport), .success(entry.content))
    }
  }

  static func store(
    _ page: SnapshotPage, _ pieces: [PreparedEvidence], _ recorder: EvidenceRecorder, isApart: Bool = false
  ) throws {
    let writer = try SnapshotWriter(recorder.db)
    var scopes: Set<String> = []
    for (entry, piece) in zip(page.evidence, pieces) {
      guard try recorder.keepPulled(piece, entry.content) else { continue }
      if !isApart { _ = try recorder.bookTraits(of: entry.content, evidence: piece.sha256) }
      for fact in piece.facts {
        if entry.content.kind == .googleVoided {
          for other in try StoreQuestion.others(of: fact.row.key, recorder.db) {
            try recorder.lookups().ask(other.hint)
          }
        }
        try writer.put(fact, evidence: piece.sha256)
        scopes.insert(Self.scope(fact.row.key.store, fact.row.key.environment))
      }
    }
    for scope in scopes { try recorder.addCursor(scope, Self.part) }
    if let cursor = page.cursor { try recorder.setCursor(cursor.name, to: cursor.value) }
    if let feed = page.feed { try note(feed, recorder) }
  }

  /// The cursor stored last, and when, in milliseconds since 1970.
  package func cursor(_ name: String) throws -> (value: String, updatedAt: Int64)? {
    switch place {
    case .ledger(let ledger): try ledger.readStatement { try Self.cursor(name, $0) }
    case .apart(let queue, _): try queue.read { try Self.cursor(name, $0) }
    }
  }

  static func cursor(_ name: String, _ db: SQLiteConnection) throws -> (value: String, updatedAt: Int64)? {
    let select = try db.cached("SELECT value, updated_at FROM cursor WHERE name = ?")
    select.bind(1, name)
    return try select.first { ($0.text(0), $0.int64(1)) }
  }

  /// Marks the snapshot as complete for a store, even if it is empty: transactions that it lacks are then own-only.
  /// Without this mark they are not compared.
  ///
  /// - Parameter clockAhead: How far this machine's clock is ahead of the store's, in milliseconds: the mark has the
  ///   store's time.
  package func cover(_ store: Store, _ environment: StoreEnvironment, clockAhead: Int64? = nil) throws {
    guard let code = environment.code else { return }
    try write { recorder in
      try recorder.db.setCursor(
        Self.scope(store.code, code), to: Self.whole, at: recorder.now - (clockAhead ?? 0))
    }
  }

  /// Removes a store's transactions and its mark from the snapshot; the cursors of the pull stay.
  package func clear(_ store: Store, _ environment: StoreEnvironment) throws {
    guard let code = environment.code else { return }
    try write { recorder in
      let rows = try recorder.db.cached("DELETE FROM store_snapshot WHERE store = ? AND environment = ?")
      rows.bind(1, store.code)
      rows.bind(2, code)
      try rows.run()
      try recorder.removeCursor(Self.scope(store.code, code))
    }
  }

  /// Records a gap of a store's feed, and how the clocks differ.
  private static func note(_ feed: FeedNote, _ recorder: EvidenceRecorder) throws {
    if let lost = feed.lost {
      let known = try Self.lostWindow(of: feed.store, feed.environment, recorder.db)
      try recorder.setCursor(Self.lostName(feed.store, feed.environment), to: lost.joined(known).text)
    }
    if let ahead = feed.clockAhead {
      try recorder.setCursor("clock.\(feed.store.rawValue).\(feed.environment.rawValue)", to: "\(ahead)")
    }
  }

  /// What clocks may differ by, as for evidence from the future.
  static let clockTolerance: Int64 = 300_000

  private static func lostName(_ store: Store, _ environment: StoreEnvironment) -> String {
    "window-lost.\(store.rawValue).\(environment.rawValue)"
  }

  /// Earlier versions had one gap, of Google's list.
  private static let lostBefore = "window-lost.google"

  /// The gap of a store's feed that no pull has closed.
  package func lostWindow(of store: Store, _ environment: StoreEnvironment) throws -> LostWindow? {
    switch place {
    case .ledger(let ledger): try ledger.readStatement { try Self.lostWindow(of: store, environment, $0) }
    case .apart(let queue, _): try queue.read { try Self.lostWindow(of: store, environment, $0) }
    }
  }

  static func lostWindow(
    of store: Store, _ environment: StoreEnvironment, _ db: SQLiteConnection
  ) throws -> LostWindow? {
    let names = [lostName(store, environment)] + (store == .google ? [lostBefore] : [])
    for name in names {
      if let row = try cursor(name, db) { return LostWindow(row.value) ?? LostWindow(from: 0, until: 0) }
    }
    return nil
  }

  /// Closes the gap, after every customer or purchase was queried individually.
  package func closeLostWindow(of store: Store, _ environment: StoreEnvironment) throws {
    try write { recorder in
      try recorder.removeCursor(Self.lostName(store, environment))
      if store == .google { try recorder.removeCursor(Self.lostBefore) }
    }
  }

  /// The values of a scope's cursor: all of the store's transactions were pulled, or a part.
  static let whole = ""
  static let part = "part"

  /// The name of the cursor that records that a store was pulled.
  static func scope(_ store: UInt8, _ environment: UInt8) -> String { "snapshot.\(store).\(environment)" }
}

extension EvidenceRecorder {
  /// Stores pulled evidence.
  ///
  /// - Returns: False if it is quarantined.
  fileprivate func keepPulled(_ piece: PreparedEvidence, _ content: VerifiedEvidence) throws -> Bool {
    if let quarantine = content.quarantine {
      // A pull does not put evidence back into quarantine that was dismissed or accepted before.
      if ![.dismissed, .pulled, .accepted].contains(try evidence.outcome(of: piece.sha256)) {
        try evidence.keep(piece, kind: content.kind, outcome: .quarantined, reason: quarantine.code.rawValue)
      }
      return false
    }
    try release(piece.sha256, kind: Int64(content.kind.rawValue), as: .pulled, because: "pulled")
    try evidence.keep(piece, kind: content.kind, outcome: .pulled)
    return true
  }

  func setCursor(_ name: String, to value: String) throws { try db.setCursor(name, to: value, at: now) }

  /// Adds a cursor unless it exists.
  func addCursor(_ name: String, _ value: String) throws {
    let insert = try db.cached("INSERT OR IGNORE INTO cursor (name, value, updated_at) VALUES (?, ?, ?)")
    insert.bind(1, name)
    insert.bind(2, value)
    insert.bind(3, now)
    try insert.run()
  }

  func removeCursor(_ name: String) throws {
    let delete = try db.cached("DELETE FROM cursor WHERE name = ?")
    delete.bind(1, name)
    try delete.run()
  }
}

/// Writes facts to `store_snapshot` within one database transaction.
private struct SnapshotWriter {
  private let select: SQLiteStatement
  private let upsert: SQLiteStatement

  init(_ db: SQLiteConnection) throws {
    select = try db.cached(
      "SELECT fact, evidence FROM store_snapshot WHERE store = ? AND environment = ? AND transaction_id = ?")
    upsert = try db.cached(
      """
      INSERT INTO store_snapshot (store, environment, transaction_id, digest, token, fact, evidence)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (store, environment, transaction_id) DO UPDATE SET
        digest = excluded.digest, token = excluded.token, fact = excluded.fact, evidence = excluded.evidence
      """)
  }

  func put(_ fact: PreparedFact, evidence: [UInt8]) throws {
    select.bind(1, fact.row.key)
    // A row that cannot be decoded is replaced.
    let known = try select.first { try? SnapshotFacts(bodies: $0.blob(0), digests: $0.blob(1)) } ?? nil
    var facts = known ?? SnapshotFacts(fact, evidence: evidence)
    if known != nil, !facts.add(fact, evidence: evidence) { return }
    let row = facts.row
    upsert.bind(1, row.key)
    upsert.bind(4, known == nil ? fact.digest ?? row.digest : row.digest)
    upsert.bind(5, row.token)
    upsert.bind(6, facts.bodies)
    upsert.bind(7, facts.digests)
    try upsert.run()
  }
}
