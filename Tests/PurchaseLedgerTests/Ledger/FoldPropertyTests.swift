import Foundation
import GRDB
import TestSupport
import Testing

@testable import PurchaseLedger

/// The fold does not depend on the order in which the store's evidence arrives. LEDGER_LONG=1 tries 16,000 histories.
@Suite(.ownThread) struct FoldPropertyTests {
  static let histories = ProcessInfo.processInfo.environment["LEDGER_LONG"] == "1" ? 2000 : 12

  @Test(arguments: 0..<8)
  func permutationsRepetitionsAndInterleavingsFoldToEqualProjections(_ part: Int) throws {
    for seed in UInt64(part * Self.histories)..<UInt64((part + 1) * Self.histories) {
      var random = SeededGenerator(seed: seed)
      let history = RandomHistory(using: &random)
      var first: [String: [String]]?
      for _ in 0..<4 {
        let database = try history.book(using: &random)
        let tables = try database.read(rankedProjections)
        if let first { try #require(tables == first, "seed \(seed)") }
        first = tables
        try #require(try rebuilt(database) == database.read(Self.plain), "rebuild, seed \(seed)")
      }
      try #require(first?["store_transaction"]?.isEmpty == false)
    }
  }

  @Test func joiningIsCommutativeAssociativeAndIdempotent() {
    for seed in 0..<100 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let facts = (0..<6).flatMap { _ in RandomHistory(using: &random).evidence }
      let groups = Dictionary(grouping: facts.map { TransactionRow($0) }, by: \.key)
      for group in groups.values where group.count > 2 {
        let (a, b, c) = (group[0], group[1], group[2])
        #expect(joined(a, b) == joined(b, a), "seed \(seed)")
        #expect(joined(joined(a, b), c) == joined(a, joined(b, c)), "seed \(seed)")
        #expect(joined(joined(a, b), b) == joined(a, b), "seed \(seed)")
      }
    }
  }

  @Test func everyBodyReadsBackAsItWasWritten() throws {
    var random = SeededGenerator(seed: 7)
    for fact in (0..<8).flatMap({ _ in RandomHistory(using: &random).evidence }) {
      let content = EventContent.transaction(fact)
      #expect(try EventContent(type: .transaction, version: 1, body: content.body) == content)
      for count in 0..<content.body.count {
        #expect(throws: CanonicalDecoder.Damaged.self) {
          try EventContent(type: .transaction, version: 1, body: Array(content.body.prefix(count)))
        }
      }
    }
  }

  private func joined(_ a: TransactionRow, _ b: TransactionRow) -> TransactionRow {
    var row = a
    row.join(b)
    return row
  }

  private static func plain(_ db: Database) throws -> [[String]] {
    try LedgerSchema.projections.map { table, key in
      try Row.fetchAll(db, sql: "SELECT * FROM \(table) ORDER BY \(key.joined(separator: ", "))").map(\.description)
    }
  }

  private func rebuilt(_ database: DatabaseQueue) throws -> [[String]] {
    try database.read { db in
      try DatabaseQueue().write { beside in
        try LedgerSchema.createProjections(beside)
        let replay = try EventReplay(db, path: "")
        let projections = try Projections(beside, policy: try replay.finalPolicy())
        try replay.run(into: projections, progress: { _, _ in }) { try LedgerEvent($0, in: "") }
        return try Self.plain(beside)
      }
    }
  }
}
