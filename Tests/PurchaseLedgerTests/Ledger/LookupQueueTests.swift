import Foundation
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// The queue of queries to the stores, and which of them are dropped when it is full.
@Suite(.ownThread) struct LookupQueueTests {
  private func key(_ id: String, _ store: Store = .apple) -> TransactionKey {
    TransactionKey(store: store, environment: .production, id: id)
  }

  /// An unsigned message with a number, which requests queries about transactions.
  private func message(
    _ number: Int, _ ids: [String], _ store: Store = .apple, from origin: String? = nil
  ) -> PreparedEvidence {
    let kind: EvidenceKind = store == .apple ? .notificationV1 : .googleNotification
    let content = VerifiedEvidence(
      kind: kind, store: store, environment: .production,
      notification: NotificationFact(
        store: store, environment: .production, uuid: "\(number)", type: "CANCEL", subtype: nil,
        signedDate: TestLedger.now, transaction: nil),
      lookups: ids.map { LookupHint(key: key($0, store), productID: nil, purchaseToken: nil) },
      signedDate: TestLedger.now, notes: ["look-up"])
    return PreparedEvidence(
      Submission(evidence: Array("{\"number\":\(number)}".utf8), channel: .storeNotification, origin: origin),
      .success(content))
  }

  /// Fills the queue: 100 messages with 100 queries each.
  private func flood(_ ledger: Ledger, from first: Int = 0) throws {
    _ = try ledger.commit(
      (first..<first + 100).map { number in message(number, (0..<100).map { "forged-\(number)-\($0)" }) },
      progress: nil)
  }

  private func ids(_ ledger: Ledger) throws -> [String] { try ledger.lookups().map(\.key.id) }

  @Test func largeMessagesDoNotKeepOthersOut() throws {
    let test = try TestLedger()
    try flood(test.ledger)
    #expect(try ids(test.ledger).count == LookupQueue.questionsMax)
    let booked = try test.ledger.commit([message(1_000, ["genuine"])], progress: nil)[0]
    #expect(booked.outcome == .accepted && booked.notes == ["look-up"], "\(booked)")
    // The same holds after a restart.
    test.ledger.database.close()
    let ledger = try Ledger.open(at: test.path, policy: nil, clock: .fixed(TestLedger.now + 1))
    try flood(ledger, from: 2_000)
    let waiting = try ids(ledger)
    #expect(waiting.count == LookupQueue.questionsMax && waiting.contains("genuine"))
    // Every message has its share, and messages beyond the limit are noted.
    #expect((0..<100).allSatisfy { waiting.contains("forged-\($0)-0") && waiting.contains("forged-\($0 + 2_000)-0") })
    let partly = try ledger.commit([message(5_000, (0..<100).map { "more-\($0)" })], progress: nil)[0]
    #expect(partly.outcome == .accepted && partly.notes == ["look-up-partly"], "\(partly)")
    #expect(try ledger.verify().isClean)
  }

  /// The queries of many messages, inserted directly; recording each message takes seconds.
  private func fill(_ ledger: Ledger, _ ids: Range<Int>, rank: Int, askedAt: Int64, source: Int = 0) throws {
    try ledger.write { recorder in
      try recorder.db.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT \(ids.lowerBound) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < \(ids.upperBound))
        INSERT INTO lookup (store, environment, transaction_id, asked_at, rank, source)
        SELECT 1, 1, 'waiting-' || i, \(askedAt), \(rank), \(source) FROM n
        """)
    }
  }

  @Test func theOldestGuessIsDroppedFirst() throws {
    let test = try TestLedger()
    let guess = 1_001
    try fill(test.ledger, 5..<LookupQueue.questionsMax, rank: guess, askedAt: TestLedger.now - 1000)
    try fill(test.ledger, 0..<5, rank: guess, askedAt: TestLedger.now - 2000)
    _ = try test.ledger.commit((0..<5).map { message($0, ["young-\($0)"]) }, progress: nil)
    let waiting = Set(try ids(test.ledger))
    #expect(waiting.count == LookupQueue.questionsMax)
    #expect((0..<5).allSatisfy { waiting.contains("young-\($0)") && !waiting.contains("waiting-\($0)") })
    // Queries to other stores are counted separately.
    _ = try test.ledger.commit([message(99_999, ["GPA.1"], .google)], progress: nil)
    #expect(Set(try ids(test.ledger)) == waiting.union(["GPA.1"]))
  }

  /// A flood from one network, however it is divided into messages, displaces only its own queries.
  @Test func eachSourceHasAFairShare() throws {
    let test = try TestLedger()
    _ = try test.ledger.commit(
      (0..<40).map { message($0, ["genuine-\($0)"], from: "192.0.2.0") } + [message(90, ["of nobody known"])],
      progress: nil)
    try fill(test.ledger, 0..<LookupQueue.questionsMax - 41, rank: 1_001, askedAt: TestLedger.now + 1, source: 70_000)
    // Newer queries of another network, each of a message of its own.
    let flood = (100..<700).map { message($0, ["forged-\($0)"], from: "198.51.100.0") }
    #expect(try test.ledger.commit(flood, progress: nil).allSatisfy { $0.outcome == .accepted })
    var waiting = Set(try ids(test.ledger))
    #expect(waiting.count == LookupQueue.questionsMax && waiting.contains("of nobody known"))
    #expect((0..<40).allSatisfy { waiting.contains("genuine-\($0)") })
    #expect((100..<700).allSatisfy { waiting.contains("forged-\($0)") } && !waiting.contains("waiting-0"))
    // The flood continues and displaces only its own queries, the oldest first.
    try test.ledger.write { recorder in
      try recorder.db.execute(
        """
        UPDATE lookup SET source = (SELECT source FROM lookup WHERE transaction_id = 'forged-100'),
          asked_at = asked_at - 9 WHERE source = 70000
        """)
    }
    _ = try test.ledger.commit((700..<900).map { message($0, ["more-\($0)"], from: "198.51.100.0") }, progress: nil)
    waiting = Set(try ids(test.ledger))
    #expect(waiting.count == LookupQueue.questionsMax && waiting.contains("of nobody known"))
    #expect((0..<40).allSatisfy { waiting.contains("genuine-\($0)") })
    #expect((700..<900).allSatisfy { waiting.contains("more-\($0)") && waiting.contains("forged-\($0 - 600)") })
    // The file contains no name of a network; equal networks have one number.
    #expect(try test.count("SELECT count(DISTINCT source) FROM lookup") == 3)
    #expect(try test.count("SELECT count(*) FROM lookup WHERE source = 0") == 1)
    #expect(try test.ledger.verify().isClean)
  }

  @Test func aRepeatedQueryIsRenewed() throws {
    let test = try TestLedger()
    try fill(test.ledger, 0..<LookupQueue.questionsMax, rank: 1_001, askedAt: TestLedger.now - 1000)
    try test.ledger.write { recorder in
      try recorder.db.execute(
        "UPDATE lookup SET asked_at = asked_at - 1000 WHERE transaction_id IN ('waiting-5', 'waiting-6')")
    }
    _ = try test.ledger.commit([message(1, ["waiting-5"]), message(2, ["young"])], progress: nil)
    let waiting = try ids(test.ledger)
    #expect(waiting.contains("waiting-5") && waiting.contains("young") && !waiting.contains("waiting-6"))
    #expect(waiting.count == LookupQueue.questionsMax)
  }

  /// Queries that outsiders cannot forge stay; a message without room is refused, so that it is redelivered.
  @Test func ownQueriesAndThoseAboutRecordedTransactionsTakePriorityOverGuesses() throws {
    let test = try TestLedger()
    try test.book(.sample("known"))
    try fill(test.ledger, 1..<LookupQueue.questionsMax, rank: 1, askedAt: TestLedger.now - 1000)
    try test.ledger.write { recorder in
      for number in 0..<3 {
        try recorder.lookups().ask(LookupHint(key: key("ours-\(number)"), productID: nil, purchaseToken: nil))
      }
    }
    #expect(try test.ledger.commit([message(1, ["guess"])], progress: nil)[0].outcome == .accepted)
    #expect(try test.ledger.commit([message(2, ["known"])], progress: nil)[0].outcome == .accepted)
    let waiting = try ids(test.ledger)
    #expect(waiting.count == LookupQueue.questionsMax + 3 && waiting.prefix(3) == ["ours-0", "ours-1", "ours-2"])
    #expect(waiting.contains("known") && !waiting.contains("guess"))
    let events = try test.events(.notification)
    let refused = try test.ledger.commit([message(3, ["another guess"])], progress: nil)[0]
    #expect(refused.outcome == .refused && refused.reason?.code == .queueFull, "\(refused)")
    #expect(try test.events(.notification) == events && ids(test.ledger) == waiting)
  }
}
