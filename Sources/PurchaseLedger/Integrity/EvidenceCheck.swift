import Crypto
import Support

/// Checks evidence against its digests and the events that name it.
struct EvidenceCheck {
  private let db: SQLiteConnection
  /// Digests of evidence that left quarantine, by the kind of audit event that records it.
  private let leftQuarantine: [String: Set<String>]

  init(_ db: SQLiteConnection, leftQuarantine: [String: Set<String>]) {
    self.db = db
    self.leftQuarantine = leftQuarantine
  }

  /// - Parameter each: Called for each piece.
  func run(_ report: inout VerifyReport, each: () -> Void = {}) throws {
    let select = try db.cached(
      """
      SELECT e.id, e.sha256, p.bytes, e.bytes, e.outcome, e.prefix_id,
        v.evidence = e.sha256 AND v.type IN \(EventType.list(EventType.vouching))
      FROM \(EvidenceRow.source) LEFT JOIN event AS v ON v.seq = e.event
      """)
    defer { select.reset() }
    var prefixes: Set<Int64> = []
    while try select.step() {
      each()
      let location = "evidence \(select.int64(0))"
      var hasher = SHA256()
      hasher.update(bufferPointer: select.bytes(2))
      hasher.update(bufferPointer: select.bytes(3))
      report.evidence += 1
      let sha256 = select.blob(1)
      if Array(hasher.finalize()) != sha256 { report.find(location, "its bytes do not match its digest") }
      if let prefix = select.optionalInt64(5) { prefixes.insert(prefix) }
      check(EvidenceStore.Outcome(rawValue: select.int64(4)), isNamed: select.int64(6) != 0, sha256, location, &report)
    }
    for id in try db.cached("SELECT id FROM evidence_prefix").all({ $0.int64(0) }) where !prefixes.contains(id) {
      report.find("evidence_prefix \(id)", "belongs to no evidence")
    }
    let missing = try db.cached(
      """
      SELECT seq FROM event AS e WHERE evidence IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM evidence WHERE sha256 = e.evidence)
      """)
    for seq in try missing.all({ $0.int64(0) }) { report.find("event \(seq)", "its evidence is missing") }
  }

  /// Checks that an event confirms the outcome, because evidence that counts as recorded is not verified again.
  private func check(
    _ outcome: EvidenceStore.Outcome?, isNamed: Bool, _ sha256: [UInt8], _ location: String,
    _ report: inout VerifyReport
  ) {
    func left(_ kind: String) -> Bool { leftQuarantine[kind]?.contains(sha256.hexadecimal) ?? false }
    switch outcome {
    case .accepted where !isNamed && !left(EvidenceRecorder.released):
      report.find(location, "counts as recorded, but no event names it: it was inserted by another program")
    case .dismissed where !left(EvidenceRecorder.dismissed):
      report.find(location, "counts as dismissed, but no event records that")
    case nil: report.find(location, "has an unknown outcome")
    default: break
    }
  }
}

/// Counts rows that follow from no event (logins, sessions, pulled evidence, cursors) and checks them against events as
/// far as possible.
struct UnchainedRowsCheck {
  private let db: SQLiteConnection

  init(_ db: SQLiteConnection) { self.db = db }

  /// - Parameter each: Called for each row of the snapshot.
  func run(_ report: inout VerifyReport, each: () -> Void = {}) throws {
    for table in [
      "credential", "session", "store_snapshot", "quarantined_transaction", "cursor", "lookup", "progress",
    ] {
      try count(table, "SELECT count(*) FROM \(table)", &report)
    }
    // Evidence keeps the outcome `pulled` if `reconcile --apply` records a part of it.
    try count(
      "evidence not recorded",
      """
      SELECT count(*) FROM evidence WHERE outcome IN (2, 4) AND sha256 NOT IN
        (SELECT evidence FROM event WHERE type IN \(EventType.list(EventType.vouching)) AND evidence IS NOT NULL)
      """, &report)
    for table in ["credential", "session"] {
      let strangers = try db.cached(
        """
        SELECT DISTINCT account FROM \(table)
        WHERE account NOT IN (SELECT number FROM account WHERE erased_seq IS NULL)
        """)
      for account in try strangers.all({ $0.int64(0) }) {
        report.find("\(table) of account \(account)", "belongs to an account that is erased or was never opened")
      }
    }
    try checkSnapshot(&report, each: each)
  }

  private func count(_ name: String, _ sql: String, _ report: inout VerifyReport) throws {
    let rows = try db.cached(sql).first { Int($0.int64(0)) } ?? 0
    if rows > 0 { report.outside.append(.init(table: name, rows: rows)) }
  }

  /// Checks the snapshot, because `reconcile --apply` records its facts.
  private func checkSnapshot(_ report: inout VerifyReport, each: () -> Void) throws {
    let select = try db.cached(
      "SELECT store, environment, transaction_id, digest, token, fact, evidence FROM store_snapshot")
    let evidence = try db.cached("SELECT 1 FROM evidence WHERE sha256 = ?")
    defer { select.reset() }
    while try select.step() {
      each()
      let key = RowKey(select)
      let location = "store_snapshot \(key.store)/\(key.environment)/\(key.id)"
      guard let facts = try? SnapshotFacts(bodies: select.blob(5), digests: select.blob(6)) else {
        report.find(location, "its facts cannot be read; pull it again")
        continue
      }
      if facts.row.key != key || facts.row.digest != select.blob(3) || facts.row.token != select.uuid(4) {
        report.find(location, "does not match its facts; pull it again")
      }
      for entry in facts.entries {
        evidence.bind(1, entry.evidence)
        if try evidence.first({ _ in true }) == nil { report.find(location, "its evidence is missing; pull it again") }
      }
    }
  }
}
