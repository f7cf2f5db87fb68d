import Foundation
import GRDB

/// Keeps evidence once, headers of JWS apart. Lives within one transaction of the database.
struct EvidenceStore {
  enum Outcome: Int64 {
    case accepted = 1
    case quarantined = 2
    /// Was in quarantine until somebody decided that it may be forgotten.
    case dismissed = 3
  }

  private let db: Database
  private let recordedAt: Int64
  private var prefixes: [ArraySlice<UInt8>: Int64] = [:]
  /// Nearly always the next one's too; comparing costs less than hashing.
  private var lastPrefix: (bytes: [UInt8], id: Int64)?
  /// Whether anything is or was in quarantine; nil until somebody wants to know.
  private var hasQuarantined: Bool?
  private let insert: SQLStatement

  init(_ db: Database, recordedAt: Int64) throws {
    self.db = db
    self.recordedAt = recordedAt
    insert = try SQLStatement(
      db,
      """
      INSERT INTO evidence (sha256, kind, outcome, reason, received_at, prefix_id, bytes) VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (sha256) DO UPDATE SET outcome = 1, kind = excluded.kind, reason = NULL WHERE outcome > 1 AND excluded.outcome = 1
      """)
  }

  mutating func keep(
    _ bytes: [UInt8], sha256: [UInt8], prefixCount: Int, kind: EvidenceKind, outcome: Outcome, reason: String? = nil
  ) throws {
    insert.bind(1, sha256)
    insert.bind(2, kind.rawValue)
    insert.bind(3, outcome.rawValue)
    insert.bind(4, reason)
    insert.bind(5, recordedAt)
    insert.bind(6, prefixCount == 0 ? nil : try prefixID(bytes[..<prefixCount]))
    bytes.withUnsafeBytes { insert.bind(7, UnsafeRawBufferPointer(rebasing: $0[prefixCount...])) }
    try insert.run()
    if outcome == .quarantined { hasQuarantined = true }
  }

  /// Takes a piece out of quarantine, if it is or was there.
  mutating func release(_ sha256: [UInt8], kind: EvidenceKind) throws {
    if hasQuarantined == nil {
      hasQuarantined =
        try SQLStatement(db, "SELECT 1 FROM evidence WHERE outcome > 1 LIMIT 1").first { _ in true } ?? false
    }
    guard hasQuarantined == true else { return }
    let update = try SQLStatement(
      db, "UPDATE evidence SET outcome = 1, kind = ?, reason = NULL WHERE sha256 = ? AND outcome > 1")
    update.bind(1, kind.rawValue)
    update.bind(2, sha256)
    try update.run()
  }

  /// Sets a piece in quarantine aside: it is listed no more, and judged anew when it is presented again.
  func dismiss(_ sha256: [UInt8]) throws {
    let update = try SQLStatement(db, "UPDATE evidence SET outcome = 3 WHERE sha256 = ? AND outcome = 2")
    update.bind(1, sha256)
    try update.run()
  }

  private mutating func prefixID(_ prefix: ArraySlice<UInt8>) throws -> Int64 {
    if let lastPrefix, lastPrefix.bytes.count == prefix.count,
      lastPrefix.bytes.withUnsafeBytes({ last in
        prefix.withUnsafeBytes { memcmp(last.baseAddress!, $0.baseAddress!, last.count) == 0 }
      })
    {
      return lastPrefix.id
    }
    let bytes = [UInt8](prefix)
    if let known = prefixes[prefix] {
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
    prefixes[bytes[...]] = id
    lastPrefix = (bytes, id)
    return id
  }
}
