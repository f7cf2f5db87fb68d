import GRDB

/// Appends to the chain within one transaction of the database.
struct EventWriter {
  private(set) var chain: EventChain
  private let recordedAt: Int64
  private let select: SQLStatement
  private let insert: SQLStatement
  /// What was the last one; so a row of repetitions costs a look-up each, and a row of new events no look-up.
  private var expectsKnown = false

  init(_ db: Database, recordedAt: Int64) throws {
    self.recordedAt = recordedAt
    chain = try Self.head(db)
    select = try SQLStatement(db, "SELECT 1 FROM event WHERE key = ?")
    insert = try SQLStatement(
      db,
      """
      INSERT INTO event (seq, type, version, recorded_at, key, evidence, body, hash)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
      """)
  }

  static func head(_ db: Database) throws -> EventChain {
    try SQLStatement(db, "SELECT seq, hash FROM event ORDER BY seq DESC LIMIT 1")
      .first { EventChain(seq: $0.int(0), hash: $0.blob(1)) } ?? EventChain()
  }

  /// Books an event unless its key is known.
  ///
  /// - Returns: Its number, nil if there is such an event already.
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
