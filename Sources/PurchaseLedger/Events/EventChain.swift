import Crypto
import Support

/// The unique key of an event: the first 16 bytes of a SHA-256, kept as two integers, which hash and compare faster.
struct EventKey: Sendable, Hashable {
  private var high: UInt64
  private var low: UInt64

  init(type: EventType, fields: [UInt8]) {
    var hasher = SHA256()
    let type = [UInt8(type.rawValue >> 8), UInt8(truncatingIfNeeded: type.rawValue)]
    hasher.update(data: type)
    hasher.update(data: fields)
    (high, low) = hasher.finalize().withUnsafeBytes {
      ($0.loadUnaligned(as: UInt64.self), $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
  }

  var bytes: [UInt8] {
    withUnsafeBytes(of: high) { high in withUnsafeBytes(of: low) { low in [UInt8](high) + [UInt8](low) } }
  }
}

/// The head of the hash chain: each event's hash covers the previous hash.
struct EventChain: Sendable {
  private(set) var seq: Int64
  private(set) var hash: [UInt8]

  /// The hash before the first event.
  static let genesis = [UInt8](SHA256.hash(data: Array("map-toolkit purchase ledger 1".utf8)))

  init(seq: Int64 = 0, hash: [UInt8] = genesis) {
    self.seq = seq
    self.hash = hash
  }

  /// The hash of an event appended to this head.
  func next(
    type: UInt16, version: UInt16, recordedAt: Int64, key: [UInt8], evidence: [UInt8]?, body: [UInt8]
  ) -> [UInt8] {
    var encoder = CanonicalEncoder(reserving: 128 + body.count)
    encoder.raw(hash)
    encoder.i64(seq &+ 1)
    encoder.u16(type)
    encoder.u16(version)
    encoder.i64(recordedAt)
    encoder.raw(key)
    encoder.optional(evidence) { $0.raw($1) }
    encoder.blob(body)
    return [UInt8](SHA256.hash(data: encoder.bytes))
  }

  /// The hash of a row, selected as `LedgerEvent.columns`, appended to this head.
  func next(_ row: SQLiteStatement) -> [UInt8] {
    next(
      type: UInt16(truncatingIfNeeded: row.int64(1)), version: UInt16(truncatingIfNeeded: row.int64(2)),
      recordedAt: row.int64(3), key: row.blob(4), evidence: row.optionalBlob(5), body: row.blob(6))
  }

  mutating func advance(to hash: [UInt8]) {
    seq &+= 1
    self.hash = hash
  }

  /// Advances over a row selected as `LedgerEvent.columns` and continues from its stored number and hash, so that one
  /// changed row is reported once.
  ///
  /// - Returns: Whether the row's number follows this head's, and whether its hash matches its content and the previous
  ///   hash.
  mutating func advance(over row: SQLiteStatement) -> (isNext: Bool, isChained: Bool) {
    let isNext = row.int64(0) == seq &+ 1
    seq = row.int64(0) &- 1
    let stored = row.blob(7)
    let isChained = next(row) == stored
    advance(to: stored)
    return (isNext, isChained)
  }
}

/// Appends events to the hash chain within one database transaction.
struct EventWriter {
  private(set) var chain: EventChain
  private let recordedAt: Int64
  private let select: SQLiteStatement
  private let insert: SQLiteStatement
  /// Whether the last event was a duplicate: a run of duplicates costs one query each, a run of new events none.
  private var expectsKnown = false

  init(_ db: SQLiteConnection, recordedAt: Int64) throws {
    self.recordedAt = recordedAt
    chain = try Self.head(db)
    select = try db.cached("SELECT 1 FROM event WHERE key = ?")
    insert = try db.cached(
      """
      INSERT INTO event (seq, type, version, recorded_at, key, evidence, body, hash)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
      """)
  }

  static func head(_ db: SQLiteConnection) throws -> EventChain {
    try db.cached("SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1")
      .first { EventChain(seq: $0.int64(0), hash: $0.blob(1)) } ?? EventChain()
  }

  /// Appends an event unless its key is recorded already.
  ///
  /// - Returns: Its sequence number; nil if the event exists already.
  mutating func append(_ type: EventType, key: EventKey, body: [UInt8], evidence: [UInt8]?) throws -> Int64? {
    let key = key.bytes
    if expectsKnown {
      select.bind(1, key)
      if try select.first({ _ in true }) != nil { return nil }
    }
    let version = EventContent.version
    let hash = chain.next(
      type: type.rawValue, version: version, recordedAt: recordedAt, key: key, evidence: evidence, body: body)
    insert.bind(1, chain.seq + 1)
    insert.bind(2, Int64(type.rawValue))
    insert.bind(3, Int64(version))
    insert.bind(4, recordedAt)
    insert.bind(5, key)
    insert.bind(6, evidence)
    insert.bind(7, body)
    insert.bind(8, hash)
    try insert.run()
    expectsKnown = insert.changes == 0
    guard !expectsKnown else { return nil }
    chain.advance(to: hash)
    return chain.seq
  }

  mutating func append(_ content: EventContent, evidence: [UInt8]? = nil) throws -> Int64? {
    let body = content.body
    return try append(content.type, key: content.key(body: body), body: body, evidence: evidence)
  }
}
