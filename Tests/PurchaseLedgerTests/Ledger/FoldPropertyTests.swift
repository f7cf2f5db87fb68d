import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

extension Revision {
  /// Usually none; otherwise of some fields.
  static func random(to number: Int64, using random: inout SeededGenerator) -> Revision? {
    let fields = DescribedField.allCases.filter { _ in Bool.random(using: &random) }
    let number = Int64.random(in: 0...number, using: &random)
    return number == 0 || fields.isEmpty ? nil : Revision(number, of: Set(fields))
  }
}

/// The fold does not depend on the order in which evidence arrives. LONG_TESTS=full runs 16,000 histories.
@Suite(.ownThread) struct FoldPropertyTests {
  static let histories = TestEffort.isFull ? 2000 : 12

  @Test(arguments: 0..<8)
  func theOrderOfEvidenceDoesNotChangeTheProjections(_ part: Int) throws {
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

  @Test func joinIsCommutativeAssociativeAndIdempotent() {
    for seed in 0..<100 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let facts = (0..<6).flatMap { _ in RandomHistory(using: &random).evidence }
      let rows = facts.map { TransactionRow($0, revision: Revision.random(to: 2, using: &random)) }
      let groups = Dictionary(grouping: rows, by: \.key)
      for group in groups.values where group.count > 2 {
        let (a, b, c) = (group[0], group[1], group[2])
        #expect(joined(a, b) == joined(b, a), "seed \(seed)")
        #expect(joined(joined(a, b), c) == joined(a, joined(b, c)), "seed \(seed)")
        #expect(joined(joined(a, b), b) == joined(a, b), "seed \(seed)")
      }
    }
  }

  /// Each field equals the latest value found by a search through all facts.
  @Test func eachFieldHasTheValueOfTheLatestFact() {
    for seed in 0..<100 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let facts = (0..<6).flatMap { _ in RandomHistory(using: &random).evidence }
      let rows = facts.map { TransactionRow($0, revision: Revision.random(to: 1, using: &random)) }
      for group in Dictionary(grouping: rows, by: \.key).values {
        let row = group.dropFirst().reduce(into: group[0]) { $0.join($1) }
        func latest<Value>(
          _ field: DescribedField, _ value: (TransactionRow) -> Value, _ precedes: (Value, Value) -> Bool
        )
          -> Value?
        {
          group.filter { $0.states(field) }.max {
            let (a, b) = ($0.version(field), $1.version(field))
            return a == b ? precedes(value($0), value($1)) : a < b
          }.map(value)
        }
        func bytes(_ a: String, _ b: String) -> Bool { a.utf8.lexicographicallyPrecedes(b.utf8) }
        #expect(row.productID == latest(.productID, \.productID, bytes) ?? "", "seed \(seed)")
        #expect(row.productType == latest(.productType, \.productType, <) ?? .unknown)
        #expect(row.purchaseDate == latest(.purchaseDate, \.purchaseDate, <))
        #expect(row.quantity == latest(.quantity, \.quantity, <))
        #expect(row.expiresDate == latest(.expiresDate, { $0.expiresDate! }, <))
        #expect(row.reason == latest(.reason, \.reason, bytes) ?? "")
        #expect(row.price == latest(.price, { $0.price! }, <))
        #expect(row.ownership == latest(.ownership, \.ownership, bytes))
        #expect(row.originalID == latest(.originalID, \.originalID) { bytes($1, $0) } ?? row.key.id)
        #expect(row.purchaseToken == latest(.purchaseToken, { $0.purchaseToken! }, bytes))
        #expect(FieldVersions(row.versions.bytes) == row.versions)
      }
    }
  }

  @Test func everyEventBodyDecodesToItsContent() throws {
    var random = SeededGenerator(seed: 7)
    for fact in (0..<8).flatMap({ _ in RandomHistory(using: &random).evidence }) {
      let content = EventContent.transaction(fact)
      #expect(try EventContent(type: .transaction, version: 1, body: content.body) == content)
      for revision in [Revision(3, of: [.quantity]), Revision(1, of: Set(DescribedField.allCases))] {
        let amendment = EventContent.amendment(fact, revision: revision)
        #expect(try EventContent(type: .amendment, version: 1, body: amendment.body) == amendment)
      }
      for fields: [UInt8] in [[0, 0], [4, 1]] {
        var body = EventContent.amendment(fact, revision: Revision(1, of: [.quantity])).body
        body.replaceSubrange(8..<10, with: fields)
        #expect(throws: CanonicalDecoder.Damaged.self) { try EventContent(type: .amendment, version: 1, body: body) }
      }
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

  private static func plain(_ db: SQLiteConnection) throws -> [[String]] {
    try LedgerSchema.projections.map { table, key in
      try db.rows("SELECT * FROM \(table) ORDER BY \(key.joined(separator: ", "))")
    }
  }

  private func rebuilt(_ database: SerializedConnection) throws -> [[String]] {
    try database.read { db in
      try LedgerDatabase.scratch().write { beside in
        try LedgerSchema.createProjections(beside)
        let replay = try EventReplay(db, path: "")
        let projections = try Projections(beside, policy: try replay.finalPolicy())
        try replay.run(into: projections, progress: { _, _ in }) { try LedgerEvent($0, in: "") }
        return try Self.plain(beside)
      }
    }
  }
}
