import Crypto
import LibC
import Support

/// Stores each piece of evidence once, JWS headers deduplicated. Lives within one database transaction.
struct EvidenceStore {
  enum Outcome: Int64, CaseIterable {
    case accepted = 1
    case quarantined = 2
    /// An operator dismissed it from quarantine.
    case dismissed = 3
    /// Verified and put into the snapshot of the store's list; only `reconcile --apply` may have recorded some of it.
    case pulled = 4
  }

  private let db: SQLiteConnection
  private let recordedAt: Int64
  private var prefixes: [[UInt8]: Int64] = [:]
  /// The last prefix, which nearly always is the next one's too: comparing costs less than hashing.
  private var lastPrefix: (bytes: [UInt8], id: Int64)?
  /// Whether any evidence is in quarantine; nil until it is queried.
  private var hasQuarantined: Bool?
  private let insert: SQLiteStatement

  init(_ db: SQLiteConnection, recordedAt: Int64) throws {
    self.db = db
    self.recordedAt = recordedAt
    insert = try db.cached(
      """
      INSERT INTO evidence (sha256, kind, outcome, reason, received_at, prefix_id, bytes, event)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (sha256) DO UPDATE SET
        outcome = excluded.outcome, kind = excluded.kind, reason = excluded.reason,
        event = coalesce(excluded.event, event)
      WHERE CASE excluded.outcome WHEN 1 THEN outcome > 1 OR event IS NULL WHEN 4 THEN outcome = 3 ELSE outcome <> 2 END
      """)
  }

  /// Stores a row of evidence.
  ///
  /// - Parameter event: The first event recorded from it. Only evidence that an event names counts as verified.
  mutating func keep(_ piece: EvidenceRow, event: Int64? = nil) throws {
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
    let insertName = try db.cached(
      "INSERT OR IGNORE INTO quarantined_transaction (store, environment, transaction_id, evidence) VALUES (?, ?, ?, ?)"
    )
    for name in piece.names {
      insertName.bind(1, name)
      insertName.bind(4, piece.sha256)
      try insertName.run()
    }
  }

  /// Takes evidence out of quarantine, because all its facts are recorded or it is in a snapshot.
  ///
  /// - Returns: Whether it was in quarantine.
  mutating func release(_ sha256: [UInt8], kind: Int64, as outcome: Outcome) throws -> Bool {
    if hasQuarantined == nil {
      hasQuarantined =
        try db.cached("SELECT 1 FROM evidence WHERE outcome = 2 LIMIT 1").first { _ in true } ?? false
    }
    guard hasQuarantined == true else { return false }
    let update = try db.cached(
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

  /// The stored outcome of evidence; nil if it is not stored.
  func outcome(of sha256: [UInt8]) throws -> Outcome? {
    let select = try db.cached("SELECT outcome FROM evidence WHERE sha256 = ?")
    select.bind(1, sha256)
    return try select.first { Outcome(rawValue: $0.int64(0)) } ?? nil
  }

  /// Dismisses evidence from quarantine: it is no longer listed, and judged again if it is presented again.
  func dismiss(_ sha256: [UInt8]) throws {
    let update = try db.cached("UPDATE evidence SET outcome = 3 WHERE sha256 = ? AND outcome = 2")
    update.bind(1, sha256)
    try update.run()
  }

  private mutating func prefixID(_ bytes: [UInt8]) throws -> Int64 {
    if let lastPrefix, lastPrefix.bytes == bytes { return lastPrefix.id }
    if let known = prefixes[bytes] {
      lastPrefix = (bytes, known)
      return known
    }
    let select = try db.cached("SELECT id FROM evidence_prefix WHERE bytes = ?")
    select.bind(1, bytes)
    var id = try select.first { $0.int64(0) }
    if id == nil {
      let insert = try db.cached("INSERT INTO evidence_prefix (bytes) VALUES (?)")
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

/// A row of `evidence` with its prefix, independent of the database file.
struct EvidenceRow: Sendable {
  var sha256: [UInt8]
  var kind: Int64
  var outcome: Int64
  var reason: String?
  var prefix: [UInt8]
  var rest: [UInt8]
  /// The transactions that quarantined evidence names, as far as they are known.
  var names: [RowKey] = []
}

extension EvidenceRow {
  /// Evidence joined with its prefix: the bytes are `p.bytes` followed by `e.bytes`.
  static let source = "evidence AS e LEFT JOIN evidence_prefix AS p ON p.id = e.prefix_id"

  static let select = """
    SELECT e.sha256, e.kind, e.outcome, e.reason, p.bytes, e.bytes FROM \(source) WHERE e.sha256 = ?
    """

  static let selectNames = "SELECT store, environment, transaction_id FROM quarantined_transaction WHERE evidence = ?"

  /// Reads a row of `select`.
  init(_ row: SQLiteStatement) {
    self.init(
      sha256: row.blob(0), kind: row.int64(1), outcome: row.int64(2), reason: row.optionalText(3),
      prefix: row.optionalBlob(4) ?? [], rest: row.blob(5))
  }
}

/// The SHA-256 of evidence, by which the same bytes are recognised.
package struct EvidenceDigest: Sendable {
  package let sha256: [UInt8]
  /// The header of a JWS including the dot, stored once for many; empty for other evidence.
  package let prefix: [UInt8]

  /// - Complexity: O(bytes).
  package init(_ bytes: [UInt8]) {
    var hasher = EvidenceHasher()
    self = hasher.digest(bytes)
  }

  fileprivate init(sha256: [UInt8], prefix: [UInt8]) {
    self.sha256 = sha256
    self.prefix = prefix
  }
}

/// Hashes many pieces of evidence. Three quarters of a signed transaction are its header, which nearly always equals
/// the previous one and is hashed once.
struct EvidenceHasher {
  private var prefix: [UInt8] = []
  private var prefixHash = SHA256()

  mutating func digest(_ bytes: [UInt8]) -> EvidenceDigest {
    bytes.withUnsafeBytes { bytes in
      let count = Self.headerCount(bytes)
      let header = UnsafeRawBufferPointer(rebasing: bytes[..<count])
      if count > 0, !isPrefix(header) {
        prefix = Array(header)
        prefixHash = SHA256()
        prefixHash.update(bufferPointer: header)
      }
      var hasher = count > 0 ? prefixHash : SHA256()
      hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: bytes[count...]))
      return EvidenceDigest(sha256: Array(hasher.finalize()), prefix: count > 0 ? prefix : [])
    }
  }

  private func isPrefix(_ header: UnsafeRawBufferPointer) -> Bool {
    prefix.withUnsafeBytes { $0.count == header.count && memcmp($0.baseAddress!, header.baseAddress!, $0.count) == 0 }
  }

  /// The length of a compact JWS's header including the dot; 0 if it is too short to be worth a row of its own.
  private static func headerCount(_ bytes: UnsafeRawBufferPointer) -> Int {
    guard let start = bytes.baseAddress, bytes.count > 512, bytes[0] == UInt8(ascii: "e"),
      bytes[1] == UInt8(ascii: "y"),
      let point = memchr(start, Int32(UInt8(ascii: ".")), bytes.count).map({ UnsafeRawPointer($0) - start }),
      point > 256
    else { return 0 }
    return point + 1
  }
}
