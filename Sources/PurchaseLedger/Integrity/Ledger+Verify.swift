import CSQLite
import Support

extension Ledger {
  /// Checks everything that can be checked without the stores' keys, in one read transaction:
  /// 1. the file: indexes match their tables, the schema has only the ledger's objects, and values have their column's
  ///    type;
  /// 2. the chain: numbers without gaps, each hash follows from the previous one, each key from its body, bodies can be
  ///    decoded, and each event is one that the ledger would have recorded after those before it (`EventCheck`);
  /// 3. the evidence: it matches its digest, exists for every event that names it, and is named by an event if it
  ///    counts as recorded;
  /// 4. the postings: they balance;
  /// 5. the projections: they and their covering indexes equal a fold of the events in a scratch database, row by row;
  /// 6. rows that follow from no event, as far as events say anything about them.
  ///
  /// - Parameters:
  ///   - head: A hash kept elsewhere, which must be in the chain.
  ///   - progress: Receives the rows that all checks have read so far, and how many they read altogether; nil does
  ///     not count them.
  /// - Complexity: O(rows), in constant memory; the scratch database takes space in the folder for temporary files.
  public func verify(
    head: [UInt8]? = nil, progress: ((Int, Int) -> Void)? = nil
  ) throws -> VerifyReport {
    try read { db in
      var report = VerifyReport()
      report.afterHead = head.map { _ in .init() }
      let passes = VerifyPasses(db, progress)
      let file = FileCheck(db)
      let tables = try file.run(&report)
      passes.finish(.pages)
      do {
        for table in tables {
          try file.checkTypes(of: table, &report)
          passes.add(table: table)
        }
        passes.finish(.types)
        try LedgerDatabase.scratch().write { beside in
          try LedgerSchema.createProjections(beside)
          let dismissed = try Self.checkEvents(
            db, beside, path: path, head: head, progress: { done, _ in passes.reach(done) }, report: &report)
          passes.finish(.events)
          try EvidenceCheck(db, leftQuarantine: dismissed).run(&report, each: passes.step)
          passes.finish(.evidence)
          try Self.checkPostings(db, report: &report)
          passes.finish(.postings)
          for comparison in ProjectionComparison.all {
            try comparison.run(db, beside, report: &report, each: passes.step)
          }
          passes.finish(.projections)
          try UnchainedRowsCheck(db).run(&report, each: passes.step)
        }
      } catch let error as SQLiteError where [SQLITE_CORRUPT, SQLITE_ERROR].contains(error.primary) && !report.isClean {
        // The check of the file has reported the damage already.
        report.find(
          "file", "cannot be read to its end (\(error.message)), so the rest was not checked; restore a backup")
      }
      passes.finish(.unchained)
      return report
    }
  }

  /// - Returns: The digests of evidence that left quarantine, by the kind of audit event that records it.
  private static func checkEvents(
    _ db: SQLiteConnection, _ beside: SQLiteConnection, path: String, head: [UInt8]?, progress: (Int, Int) -> Void,
    report: inout VerifyReport
  ) throws -> [String: Set<String>] {
    let replay = try EventReplay(db, path: path)
    let projections = try Projections(beside, policy: try replay.finalPolicy())
    var check = try EventCheck(db, after: projections, path: path, head: head)
    try replay.run(into: projections, progress: progress) { try check.event($0, &report) }
    check.finish(&report)
    return check.leftQuarantine
  }

  private static func checkPostings(_ db: SQLiteConnection, report: inout VerifyReport) throws {
    let unknown = try db.cached(
      """
      SELECT store, environment, transaction_id, entry FROM posting
      WHERE (entry, debit % 10, credit % 10, debit / 10, credit / 10) NOT IN
        (VALUES (1, 1, 2, 0, 0), (1, 1, 2, 1, 1), (2, 3, 1, 0, 0), (2, 3, 1, 1, 1)) OR amount < 0
      """)
    for key in try unknown.all({ "\($0.int64(0))/\($0.int64(1))/\($0.text(2))/\($0.int64(3))" }) {
      report.find("posting \(key)", "does not balance: its accounts are not those of a sale or refund")
    }
    report.unpriced = try UnpricedSales(db).count()
    // Summed in halves, because a sum of amounts may exceed 64 bits.
    report.totals = try db.cached(
      """
      SELECT currency, sum((amount >> 32) * (entry = 1)), sum((amount & 0xffffffff) * (entry = 1)),
        sum((amount >> 32) * (entry = 2)), sum((amount & 0xffffffff) * (entry = 2)) FROM posting
      WHERE environment = 1 AND currency <> 'XXX' GROUP BY currency ORDER BY currency
      """
    ).all {
      VerifyReport.Total(
        currency: $0.text(0), sales: Int128($0.int64(1)) << 32 + Int128($0.int64(2)),
        refunds: Int128($0.int64(3)) << 32 + Int128($0.int64(4)))
    }
  }
}
