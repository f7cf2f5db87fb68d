import Crypto
import GRDB

extension Ledger {
  /// Checks everything that can be checked without the stores, on one view of the file:
  /// 1. numbers without gaps, each hash from the one before, each key from its body, bodies that can be read;
  /// 2. evidence equal to its digest, and there for every event that names one;
  /// 3. postings that balance;
  /// 4. projections equal to a fold beside them, row by row.
  ///
  /// - Parameter head: A hash that was kept elsewhere; it has to be in the chain.
  /// - Complexity: O(rows), in constant memory; the fold beside takes room in the folder for temporary files.
  public func verify(head: [UInt8]? = nil, progress: (Int, Int) -> Void = { _, _ in }) throws -> VerifyReport {
    try read { db in
      var report = VerifyReport()
      let scratch = try LedgerDatabase.scratch()
      try scratch.write { beside in
        try LedgerSchema.createProjections(beside)
        try Self.checkEvents(db, beside, path: path, head: head, progress: progress, report: &report)
        try Self.checkEvidence(db, report: &report)
        try Self.checkPostings(db, report: &report)
        for (table, key) in LedgerSchema.projections {
          try ProjectionComparison(table: table, key: key).run(db, beside, report: &report)
        }
      }
      return report
    }
  }

  private static func checkEvents(
    _ db: Database, _ beside: Database, path: String, head: [UInt8]?, progress: (Int, Int) -> Void,
    report: inout VerifyReport
  ) throws {
    let replay = try EventReplay(db, path: path)
    let projections = try Projections(beside, policy: try replay.finalPolicy())
    var chain = EventChain()
    var findings: [(String, String)] = []
    var hasHead = head == nil || head == chain.hash
    try replay.run(into: projections, progress: progress) { row in
      let seq = row.int(0)
      let location = "event \(seq)"
      if seq != chain.seq + 1 {
        findings.append((location, "follows event \(chain.seq): those between are missing"))
        chain = EventChain(seq: seq - 1, hash: chain.hash)
      }
      let body = row.blob(6)
      let expected = chain.next(
        type: UInt16(truncatingIfNeeded: row.int(1)), version: UInt16(truncatingIfNeeded: row.int(2)),
        recordedAt: row.int(3), key: row.blob(4), evidence: row.optionalBlob(5), body: body)
      let stored = row.blob(7)
      if expected != stored { findings.append((location, "its hash does not follow from it and the one before")) }
      // Goes on from what is stored, so that one changed row is one finding.
      chain.advance(to: stored)
      if stored == head { hasHead = true }
      guard let event = try? LedgerEvent(row, in: path) else {
        findings.append((location, "its body cannot be read"))
        return nil
      }
      if event.content.key(body: body).bytes != row.blob(4) {
        findings.append((location, "its key is of another body"))
      }
      return event
    }
    for (location, message) in findings { report.find(location, message) }
    if !hasHead { report.find("head", "is not in the chain: its end was cut off, or the history rewritten") }
    report.events = Int(chain.seq)
    report.head = chain.hash
  }

  private static func checkEvidence(_ db: Database, report: inout VerifyReport) throws {
    let select = try SQLStatement(
      db,
      """
      SELECT e.id, e.sha256, p.bytes, e.bytes FROM evidence AS e LEFT JOIN evidence_prefix AS p ON p.id = e.prefix_id
      """)
    defer { select.reset() }
    while try select.step() {
      var hasher = SHA256()
      hasher.update(bufferPointer: select.bytes(2))
      hasher.update(bufferPointer: select.bytes(3))
      report.evidence += 1
      if Array(hasher.finalize()) != select.blob(1) {
        report.find("evidence \(select.int(0))", "its bytes are not those of its digest")
      }
    }
    let missing = try SQLStatement(
      db,
      """
      SELECT seq FROM event AS e WHERE evidence IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM evidence WHERE sha256 = e.evidence)
      """)
    for seq in try missing.all({ $0.int(0) }) { report.find("event \(seq)", "its evidence is missing") }
  }

  private static func checkPostings(_ db: Database, report: inout VerifyReport) throws {
    let unknown = try SQLStatement(
      db,
      """
      SELECT store, environment, transaction_id, entry FROM posting
      WHERE (entry, debit % 10, credit % 10, debit / 10, credit / 10) NOT IN
        (VALUES (1, 1, 2, 0, 0), (1, 1, 2, 1, 1), (2, 3, 1, 0, 0), (2, 3, 1, 1, 1)) OR amount < 0
      """)
    for key in try unknown.all({ "\($0.int(0))/\($0.int(1))/\($0.text(2))/\($0.int(3))" }) {
      report.find("posting \(key)", "does not balance: its accounts are not those of a sale or refund")
    }
    report.totals = try SQLStatement(
      db,
      """
      SELECT currency, total(amount * (entry = 1)), total(amount * (entry = 2)) FROM posting
      WHERE environment = 1 AND currency <> 'XXX' GROUP BY currency ORDER BY currency
      """
    ).all { VerifyReport.Total(currency: $0.text(0), sales: $0.int(1), refunds: $0.int(2)) }
  }
}
