import Foundation
import GRDB
import TestSupport
import Testing

@testable import PurchaseLedger

/// What the store is asked about, and what goes when there is too much of it.
@Suite(.ownThread) struct LookupQueueTests {
  private func key(_ id: String, _ store: Store = .apple) -> TransactionKey {
    TransactionKey(store: store, environment: .production, id: id)
  }

  /// An unsigned message of a number that asks about transactions.
  private func message(_ number: Int, _ ids: [String], _ store: Store = .apple) -> PreparedPiece {
    let kind: EvidenceKind = store == .apple ? .notificationV1 : .googleNotification
    let content = VerifiedEvidence(
      kind: kind, store: store, environment: .production,
      notification: NotificationFact(
        store: store, environment: .production, uuid: "\(number)", type: "CANCEL", subtype: nil,
        signedDate: TestLedger.now, transaction: nil),
      lookups: ids.map { LookupHint(key: key($0, store), productID: nil, purchaseToken: nil) },
      signedDate: TestLedger.now, notes: ["look-up"])
    return PreparedPiece(
      Submission(evidence: Array("{\"number\":\(number)}".utf8), channel: .storeNotification), .success(content))
  }

  /// As many questions as can wait: 100 messages with 100 each.
  private func flood(_ ledger: Ledger, from first: Int = 0) throws {
    _ = try ledger.commit(
      (first..<first + 100).map { number in message(number, (0..<100).map { "forged-\(number)-\($0)" }) },
      progress: nil)
  }

  private func ids(_ ledger: Ledger) throws -> [String] { try ledger.lookups().map(\.key.id) }

  @Test func aFewLargeMessagesDoNotKeepOthersOut() throws {
    let test = try TestLedger()
    try flood(test.ledger)
    #expect(try ids(test.ledger).count == LookupQueue.questionsMax)
    let booked = try test.ledger.commit([message(1_000, ["genuine"])], progress: nil)[0]
    #expect(booked.outcome == .accepted && booked.notes == ["look-up"], "\(booked)")
    // Nor does anything that comes later, after a restart.
    try test.ledger.pool.close()
    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now + 1))
    try flood(ledger, from: 2_000)
    let waiting = try ids(ledger)
    #expect(waiting.count == LookupQueue.questionsMax && waiting.contains("genuine"))
    // Every message has its share, and what there was too much of says so.
    #expect((0..<100).allSatisfy { waiting.contains("forged-\($0)-0") && waiting.contains("forged-\($0 + 2_000)-0") })
    let partly = try ledger.commit([message(5_000, (0..<100).map { "more-\($0)" })], progress: nil)[0]
    #expect(partly.outcome == .accepted && partly.notes == ["look-up-partly"], "\(partly)")
    #expect(try ledger.verify().isClean)
  }

  @Test func theOldestGuessGoesFirst() throws {
    let test = try TestLedger()
    func open(_ seconds: Int64) throws -> Ledger {
      try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now + seconds * 1000))
    }
    let half = LookupQueue.questionsMax / 2
    for (second, range) in [(1, 0..<half), (2, half..<2 * half), (3, 2 * half..<2 * half + 3)] {
      _ = try open(Int64(second)).commit(range.map { message($0, ["\($0)"]) }, progress: nil)
    }
    let waiting = Set(try ids(test.ledger))
    #expect(waiting.count == LookupQueue.questionsMax)
    #expect((half..<2 * half + 3).allSatisfy { waiting.contains("\($0)") })
    // Other stores' questions wait elsewhere.
    _ = try test.ledger.commit([message(99_999, ["GPA.1"], .google)], progress: nil)
    #expect(Set(try ids(test.ledger)) == waiting.union(["GPA.1"]))
  }

  /// What nobody outside can make up stays; a message that finds no place is refused, so that it comes again.
  @Test func questionsOfOursAndAboutOurBookStayBeforeGuesses() throws {
    let test = try TestLedger()
    let known = (0..<LookupQueue.questionsMax).map { "\($0)" }
    _ = try test.ledger.commit(known.map { TestLedger.piece([.sample($0)]) }, progress: nil)
    try flood(test.ledger)
    try test.ledger.write { booker in
      try booker.lookups().ask(LookupHint(key: key("ours"), productID: nil, purchaseToken: nil))
    }
    let messages = known.enumerated().map { message(10_000 + $0, [$1]) }
    #expect(try test.ledger.commit(messages, progress: nil).allSatisfy { $0.outcome == .accepted })
    #expect(Set(try ids(test.ledger)) == Set(known + ["ours"]))
    let events = try test.events(.notification)
    let refused = try test.ledger.commit([message(90_000, ["guess"])], progress: nil)[0]
    #expect(refused.outcome == .refused && refused.reason?.code == .queueFull, "\(refused)")
    #expect(try test.events(.notification) == events)
    #expect(try test.ledger.lookups().first?.key.id == "ours")
  }

  @Test func aQueueOfAnOlderVersionIsTakenOver() async throws {
    let test = try TestLedger()
    try test.book(.sample("1"))
    _ = try test.ledger.commit([message(1, ["1"]), message(2, ["guess"])], progress: nil)
    try test.ledger.pool.close()
    try await DatabaseQueue(path: test.path).write { db in
      try db.execute(
        sql: """
          DROP INDEX lookup_rank; ALTER TABLE lookup DROP COLUMN rank;
          DELETE FROM grdb_migrations WHERE identifier = 'ranks of look-ups';
          """)
    }
    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now))
    #expect(try ids(ledger) == ["1", "guess"])
    try flood(ledger)
    _ = try ledger.commit([message(3, ["3"])], progress: nil)
    #expect(Set(["1", "guess", "3"]).isSubset(of: try ids(ledger)))
    try await ledger.removeLookup(key("1"))
    #expect(try !ids(ledger).contains("1"))
  }
}
