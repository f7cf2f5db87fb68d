import GRDB

extension Ledger {
  /// Checks everything that can be checked without the stores' keys, on one view of the file:
  /// 1. the file: every index has what its table has, and nothing is in the schema that we did not put there;
  /// 2. numbers without gaps, each hash from the one before, each key from its body, bodies that can be read;
  /// 3. evidence equal to its digest, there for every event that names one, and named by an event if it counts as booked;
  /// 4. postings that balance;
  /// 5. projections equal to a fold beside them, row by row, and so what look-ups answer out of an index alone;
  /// 6. what no event says, as far as the rest says anything about it.
  ///
  /// - Parameter head: A hash that was kept elsewhere; it has to be in the chain.
  /// - Complexity: O(rows), in constant memory; the fold beside takes room in the folder for temporary files.
  public func verify(head: [UInt8]? = nil, progress: (Int, Int) -> Void = { _, _ in }) throws -> VerifyReport {
    try read { db in
      var report = VerifyReport()
      try FileCheck(db).run(&report)
      do {
        try LedgerDatabase.scratch().write { beside in
          try LedgerSchema.createProjections(beside)
          let dismissed = try Self.checkEvents(
            db, beside, path: path, head: head, progress: progress, report: &report)
          try EvidenceCheck(db, leftQuarantine: dismissed).run(&report)
          try Self.checkPostings(db, report: &report)
          for comparison in ProjectionComparison.all { try comparison.run(db, beside, report: &report) }
          try OutsideCheck(db).run(&report)
        }
      } catch let error as DatabaseError
        where [.SQLITE_CORRUPT, .SQLITE_ERROR].contains(error.resultCode) && !report.isClean
      {
        // Of what the file's check has named already.
        report.find(
          "file", "cannot be read to its end (\(error.message ?? "")), so the rest was not checked; restore a backup")
      }
      return report
    }
  }

  /// - Returns: The digests of evidence that left quarantine without being booked, as audits say.
  private static func checkEvents(
    _ db: Database, _ beside: Database, path: String, head: [UInt8]?, progress: (Int, Int) -> Void,
    report: inout VerifyReport
  ) throws -> [String: Set<String>] {
    let replay = try EventReplay(db, path: path)
    let projections = try Projections(beside, policy: try replay.finalPolicy())
    var chain = EventChain()
    var findings: [(String, String)] = []
    var hasHead = head == nil || head == chain.hash
    var leftQuarantine: [String: Set<String>] = [:]
    try replay.run(into: projections, progress: progress) { row in
      let seq = row.int(0)
      let location = "event \(seq)"
      if seq != chain.seq + 1 {
        findings.append((location, "follows event \(chain.seq): those between are missing"))
        chain = EventChain(seq: seq - 1, hash: chain.hash)
      }
      let body = row.blob(6)
      let expected = chain.next(row)
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
      if case .audit(let kind, _, let subject?, _, _, _) = event.content,
        [Booker.released, Booker.dismissed].contains(kind)
      {
        leftQuarantine[kind, default: []].insert(subject)
      }
      return event
    }
    for (location, message) in findings { report.find(location, message) }
    if !hasHead { report.find("head", "is not in the chain: its end was cut off, or the history rewritten") }
    report.events = Int(chain.seq)
    report.head = chain.hash
    return leftQuarantine
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
    // In halves: a sum of whole amounts may be more than 64 bits hold.
    report.totals = try SQLStatement(
      db,
      """
      SELECT currency, sum((amount >> 32) * (entry = 1)), sum((amount & 0xffffffff) * (entry = 1)),
        sum((amount >> 32) * (entry = 2)), sum((amount & 0xffffffff) * (entry = 2)) FROM posting
      WHERE environment = 1 AND currency <> 'XXX' GROUP BY currency ORDER BY currency
      """
    ).all {
      VerifyReport.Total(
        currency: $0.text(0), sales: Int128($0.int(1)) << 32 + Int128($0.int(2)),
        refunds: Int128($0.int(3)) << 32 + Int128($0.int(4)))
    }
  }
}
