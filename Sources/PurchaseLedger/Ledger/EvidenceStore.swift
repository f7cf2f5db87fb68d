import Foundation
import GRDB

/// Keeps evidence once, headers of JWS apart. Lives within one transaction of the database.
struct EvidenceStore {
  enum Outcome: Int64, CaseIterable {
    case accepted = 1
    case quarantined = 2
    /// Was in quarantine until somebody decided that it may be forgotten.
    case dismissed = 3
    /// Verified, and put into a snapshot of the store's book: `reconcile --apply` alone may have booked some of it.
    case pulled = 4
  }

  private let db: Database
  private let recordedAt: Int64
  private var prefixes: [[UInt8]: Int64] = [:]
  /// Nearly always the next one's too; comparing costs less than hashing.
  private var lastPrefix: (bytes: [UInt8], id: Int64)?
  /// Whether there is evidence in quarantine; nil until somebody wants to know.
  private var hasQuarantined: Bool?
  private let insert: SQLStatement

  init(_ db: Database, recordedAt: Int64) throws {
    self.db = db
    self.recordedAt = recordedAt
    insert = try SQLStatement(
      db,
      """
      INSERT INTO evidence (sha256, kind, outcome, reason, received_at, prefix_id, bytes, event)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (sha256) DO UPDATE SET
        outcome = excluded.outcome, kind = excluded.kind, reason = excluded.reason,
        event = coalesce(excluded.event, event)
      WHERE CASE excluded.outcome WHEN 1 THEN outcome > 1 OR event IS NULL WHEN 4 THEN outcome = 3 ELSE outcome <> 2 END
      """)
  }

  static let insertName =
    "INSERT OR IGNORE INTO quarantined_transaction (store, environment, transaction_id, evidence) VALUES (?, ?, ?, ?)"

  /// - Parameter event: The first event that was booked of it, which names it: by that it is known again.
  mutating func keep(
    _ piece: PreparedPiece, kind: EvidenceKind, outcome: Outcome, reason: String? = nil, event: Int64? = nil
  ) throws {
    try keep(
      KeptEvidence(
        sha256: piece.sha256, kind: Int64(kind.rawValue), outcome: outcome.rawValue, reason: reason,
        prefix: piece.prefix, rest: piece.rest, names: outcome == .quarantined ? piece.names : []),
      event: event)
  }

  /// Keeps what another file kept.
  mutating func keep(_ piece: KeptEvidence, event: Int64? = nil) throws {
    insert.bind(1, piece.sha256)
    insert.bind(2, piece.kind)
    insert.bind(3, piece.outcome)
    insert.bind(4, piece.reason)
    insert.bind(5, recordedAt)
    insert.bind(6, piece.prefix.isEmpty ? nil : try prefixID(piece.prefix))
    insert.bind(7, piece.rest)
    insert.bind(8, event)
    try insert.run()
    if piece.outcome == Outcome.quarantined.rawValue { hasQuarantined = true }
    guard !piece.names.isEmpty else { return }
    let insertName = try SQLStatement(db, Self.insertName)
    for name in piece.names {
      insertName.bind(1, name)
      insertName.bind(4, piece.sha256)
      try insertName.run()
    }
  }

  /// Takes a piece out of quarantine without an event of its own, if it is there: all that it says is booked, or it stands in a snapshot.
  ///
  /// - Returns: Whether it was.
  mutating func release(_ sha256: [UInt8], kind: Int64, as outcome: Outcome) throws -> Bool {
    if hasQuarantined == nil {
      hasQuarantined =
        try SQLStatement(db, "SELECT 1 FROM evidence WHERE outcome = 2 LIMIT 1").first { _ in true } ?? false
    }
    guard hasQuarantined == true else { return false }
    let update = try SQLStatement(
      db,
      """
      UPDATE evidence SET outcome = CASE WHEN event IS NULL THEN ? ELSE 1 END, kind = ?, reason = NULL
      WHERE sha256 = ? AND outcome = 2
      """)
    update.bind(1, outcome.rawValue)
    update.bind(2, kind)
    update.bind(3, sha256)
    try update.run()
    return update.changes > 0
  }

  /// What became of a piece; nil if it is not kept.
  func outcome(of sha256: [UInt8]) throws -> Outcome? {
    let select = try SQLStatement(db, "SELECT outcome FROM evidence WHERE sha256 = ?")
    select.bind(1, sha256)
    return try select.first { Outcome(rawValue: $0.int(0)) } ?? nil
  }

  /// Sets a piece in quarantine aside: it is listed no more, and judged anew when it is presented again.
  func dismiss(_ sha256: [UInt8]) throws {
    let update = try SQLStatement(db, "UPDATE evidence SET outcome = 3 WHERE sha256 = ? AND outcome = 2")
    update.bind(1, sha256)
    try update.run()
  }

  private mutating func prefixID(_ bytes: [UInt8]) throws -> Int64 {
    if let lastPrefix, lastPrefix.bytes == bytes { return lastPrefix.id }
    if let known = prefixes[bytes] {
      lastPrefix = (bytes, known)
      return known
    }
    let select = try SQLStatement(db, "SELECT id FROM evidence_prefix WHERE bytes = ?")
    select.bind(1, bytes)
    var id = try select.first { $0.int(0) }
    if id == nil {
      let insert = try SQLStatement(db, "INSERT INTO evidence_prefix (bytes) VALUES (?)")
      insert.bind(1, bytes)
      try insert.run()
      id = db.lastInsertedRowID
    }
    guard let id else { return 0 }
    prefixes[bytes] = id
    lastPrefix = (bytes, id)
    return id
  }
}

extension PreparedPiece {
  /// The transactions that it speaks of.
  fileprivate var names: [RowKey] {
    guard case .success(let content) = result else { return [] }
    return facts.map(\.row.key) + [content.notification?.transaction].compactMap { $0.flatMap { RowKey($0) } }
  }
}
