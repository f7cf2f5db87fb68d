import GRDB

extension Ledger {
  /// Checks everything that can be checked without the stores' keys, on one view of the file:
  /// 1. the file: every index has what its table has, nothing is in the schema that we did not put there, and every
  ///    value is of its column's type;
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
      let file = FileCheck(db)
      let tables = try file.run(&report)
      do {
        for table in tables { try file.checkTypes(of: table, &report) }
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
    var check = EventCheck(path: path, head: head)
    try replay.run(into: projections, progress: progress) { check.event($0, &report) }
    check.finish(&report)
    return check.leftQuarantine
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

/// Follows the chain, and what in it decides about the rest.
private struct EventCheck {
  private let path: String
  private let head: [UInt8]?
  private var chain = EventChain()
  private var hasHead: Bool
  private(set) var leftQuarantine: [String: Set<String>] = [:]
  /// As it is where the chain has come to.
  private var policy = LedgerPolicy()
  /// Unsigned facts that no import may have brought: events by their transaction, until `reconcile --apply` says that
  /// it booked them.
  private var refused: [TransactionKey: [Int64]] = [:]

  init(path: String, head: [UInt8]?) {
    self.path = path
    self.head = head
    hasHead = head == nil || head == chain.hash
  }

  /// - Returns: The event of a row, nil if it cannot be read.
  mutating func event(_ row: borrowing SQLStatement, _ report: inout VerifyReport) -> LedgerEvent? {
    let location = "event \(row.int(0))"
    let last = chain.seq
    let (isNext, isChained) = chain.advance(over: row)
    if !isNext { report.find(location, "follows event \(last): those between are missing") }
    if !isChained { report.find(location, "its hash does not follow from it and the one before") }
    if chain.hash == head { hasHead = true }
    guard let event = try? LedgerEvent(row, in: path) else {
      report.find(location, "its body cannot be read")
      return nil
    }
    if event.content.key(body: row.blob(6)).bytes != row.blob(4) {
      report.find(location, "its key is of another body")
    }
    note(event, &report)
    return event
  }

  private mutating func note(_ event: LedgerEvent, _ report: inout VerifyReport) {
    switch event.content {
    case .transaction(let fact) where fact.trust == .unsigned, .amendment(let fact, _) where fact.trust == .unsigned:
      report.unsigned += 1
      if policy.unsignedEvidence == .refuse { refused[fact.key, default: []].append(event.seq) }
    case .correction(_, _, let key): refused[key] = nil
    case .policy(let name, let value, _): try? policy.set(name, to: value)
    case .audit(let kind, _, let subject?, _, _, _) where [Booker.released, Booker.dismissed].contains(kind):
      leftQuarantine[kind, default: []].insert(subject)
    default: break
    }
  }

  func finish(_ report: inout VerifyReport) {
    for seq in refused.values.joined().sorted() {
      report.find("event \(seq)", "states what no store signed, while the policy unsigned-evidence refused that")
    }
    if !hasHead { report.find("head", "is not in the chain: its end was cut off, or the history rewritten") }
    report.events = Int(chain.seq)
    report.head = chain.hash
  }
}

/// What `verify` found.
public struct VerifyReport: Sendable {
  public struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// Table and key of the row, or what it is about.
    public var location: String
    public var message: String

    public var description: String { "\(location): \(message)" }
  }

  /// How many events there are.
  public internal(set) var events = 0
  /// The hash of the last one: kept elsewhere, it finds a history that was cut off or rewritten as a whole.
  public internal(set) var head: [UInt8] = EventChain.genesis
  public internal(set) var evidence = 0
  /// Facts in the chain that no store signed: the operator vouched for them.
  public internal(set) var unsigned = 0
  /// The first hundred; `findingCount` counts all.
  public private(set) var findings: [Finding] = []
  public private(set) var findingCount = 0
  /// What the books say per currency, in minor units: sales and refunds of the production environment.
  public internal(set) var totals: [Total] = []

  public struct Total: Sendable, Hashable {
    public var currency: String
    public var sales: Int128
    public var refunds: Int128
  }

  /// What no event says, so that nothing here can tell whether somebody changed it: tables and how many rows they have.
  public internal(set) var outside: [Outside] = []
  /// Pieces of evidence whose signature was checked again, nil where that was not asked for.
  public internal(set) var signatures: Int?

  public struct Outside: Sendable, Hashable {
    public var table: String
    public var rows: Int
  }

  public var isClean: Bool { findingCount == 0 }

  mutating func find(_ location: String, _ message: String) {
    findingCount += 1
    if findings.count < 100 { findings.append(Finding(location: location, message: message)) }
  }
}
