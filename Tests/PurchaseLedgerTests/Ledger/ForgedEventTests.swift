import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger

/// Whoever can write to the file can append events whose hashes fit. `verify` finds those that the ledger would not
/// have recorded.
@Suite(.ownThread) struct ForgedEventTests {
  private static let now: Int64 = 1_790_000_000_000
  private static let bundle = "org.example.maps"
  private let folder: TemporaryFolder
  private let ledger: Ledger
  private let authority: EphemeralCA
  private let verifier: EvidenceVerifier
  private let anna = AccountID(UUID())
  private let carl = AccountID(UUID())
  private let token = AccountToken(UUID())

  init() throws {
    folder = try TemporaryFolder()
    authority = try EphemeralCA()
    verifier = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: Self.bundle))
    ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    try ledger.openAccounts([(anna, token), (carl, AccountToken(UUID()))])
  }

  private func fact(_ id: String, _ change: (inout StoreTransaction) -> Void = { _ in }) -> StoreTransaction {
    var fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: id, originalTransactionID: id,
      productID: "region.\(id)", productType: .nonConsumable, purchaseDate: Self.now - 10_000, ownership: .purchased,
      signedDate: Self.now - 5000, trust: .signed, statement: .purchased)
    change(&fact)
    return fact
  }

  /// Records a signed transaction; returns the digest of its evidence.
  @discardableResult
  private func book(_ fact: StoreTransaction, for account: AccountID? = nil) async throws -> [UInt8] {
    let evidence = try authority.transaction(fact, bundleID: Self.bundle)
    let booking = try await ledger.book(
      Submission(evidence: evidence, account: account, channel: .operatorImport), with: verifier)
    #expect(booking.outcome == .accepted)
    return EvidenceDigest(evidence).sha256
  }

  private func verified(head: [UInt8]? = nil) async throws -> VerifyReport {
    var report = try ledger.verify(head: head)
    try await ledger.verifySignatures(with: verifier, into: &report)
    return report
  }

  private func append(_ content: EventContent, evidence: [UInt8]? = nil) throws -> Int64 {
    try #require(try ledger.write { try $0.append(content, evidence: evidence) })
  }

  private func key(_ id: String) -> TransactionKey { TransactionKey(store: .apple, environment: .production, id: id) }

  /// A refund in part, so that a decision is due.
  private func refunded(_ id: String) -> StoreTransaction {
    fact(id) {
      $0.statement = .revoked
      $0.revocation = Revocation(date: Self.now - 1000, percentageMilli: 30_000)
      $0.signedDate = Self.now - 1000
    }
  }

  /// An event that somebody appends, made from the digests of the evidence of transactions 1 and 2.
  struct Forgery: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var content: @Sendable (ForgedEventTests) -> EventContent
    /// The transaction whose evidence it names; nil for none.
    var evidence: String?

    init(_ name: String, evidence: String? = nil, _ content: @escaping @Sendable (ForgedEventTests) -> EventContent) {
      (testDescription, self.evidence, self.content) = (name, evidence, content)
    }
  }

  static let forgeries: [Forgery] = [
    Forgery("a transfer that the policy refuses", evidence: "1") {
      .claim($0.key("1"), account: $0.carl, isTransfer: true, after: 0)
    },
    Forgery("a claim by the evidence of another transaction", evidence: "1") {
      .claim($0.key("2"), account: $0.carl, isTransfer: false, after: 0)
    },
    Forgery("a claim without evidence") { .claim($0.key("2"), account: $0.carl, isTransfer: false, after: 0) },
    Forgery("a claim of an unknown transaction", evidence: "2") {
      .claim($0.key("7"), account: $0.carl, isTransfer: false, after: 0)
    },
    Forgery("a claim for nobody", evidence: "2") {
      .claim($0.key("2"), account: AccountID(UUID()), isTransfer: false, after: 0)
    },
    Forgery("a claim with a false predecessor", evidence: "2") {
      .claim($0.key("2"), account: $0.carl, isTransfer: false, after: 3)
    },
    Forgery("a decision on no refund", evidence: "1") {
      .decision($0.key("1"), revocationDate: 5, percentageMilli: 10_000, policy: "partial-refund", value: "keep")
    },
    Forgery("a decision by another policy", evidence: "3") {
      .decision(
        $0.key("3"), revocationDate: now - 1000, percentageMilli: 40_000, policy: "partial-refund", value: "revoke")
    },
    Forgery("a correction by other evidence", evidence: "1") { .correction(run: 1, class: .storeOnly, $0.key("2")) },
    Forgery("a correction without evidence") { .correction(run: 1, class: .storeOnly, $0.key("2")) },
    Forgery("a correction of what agrees", evidence: "2") { .correction(run: 1, class: .matched, $0.key("2")) },
    Forgery("an acknowledgement of nothing") { .acknowledgement($0.key("7")) },
    Forgery("an erasure of nobody") { _ in .accountErased(AccountID(UUID())) },
    Forgery("another environment") { _ in .policy(name: "environment", value: "sandbox", after: 1) },
    Forgery("a policy with a false predecessor") { _ in .policy(name: "second-claim", value: "transfer", after: 99) },
    Forgery("a dismissal of what was never there") { _ in
      .audit(
        kind: EvidenceRecorder.dismissed, account: nil, subject: String(repeating: "ab", count: 32), outcome: "x",
        detail: nil, nonce: AccountID.random())
    },
    Forgery("a quarantine of other content", evidence: "1") {
      .quarantine(
        kind: .transaction, reason: "inconsistent", transaction: $0.key("2"), signedDate: now - 5000, note: nil)
    },
    Forgery("an amendment of nothing", evidence: "1") {
      .amendment($0.fact("1"), revision: Revision(9, of: [.productID]))
    },
    Forgery("a refund that its evidence does not state", evidence: "1") {
      .transaction($0.refunded("1"))
    },
  ]

  @Test(arguments: forgeries) func aForgedEventIsFound(_ forgery: Forgery) async throws {
    let evidence = ["1": try await book(fact("1"), for: anna), "2": try await book(fact("2"))]
      .merging(["3": try await book(refunded("3"))]) { $1 }
    let before = try await verified()
    #expect(before.isClean, "\(before.findings)")
    let seq = try append(forgery.content(self), evidence: forgery.evidence.flatMap { evidence[$0] })
    try ledger.rebuild()
    let report = try await verified(head: before.head)
    #expect(Set(report.findings.map(\.location)) == ["event \(seq)"], "\(report.findings)")
    #expect(report.afterHead?.events == 1)
  }

  /// A notification is recorded once by its id; the rest of its body is compared too.
  @Test func aNotificationWithAnotherTypeIsFound() async throws {
    let inner = try authority.transaction(fact("1"), bundleID: Self.bundle)
    let message = try authority.notification(
      type: "ONE_TIME_CHARGE", uuid: "u-1", signedDate: Self.now - 4000, environment: .production,
      bundleID: Self.bundle, appAppleID: 1, transaction: inner, renewal: nil)
    _ = try await ledger.book(Submission(evidence: message, channel: .storeNotification), with: verifier)
    let genuine = try #require(try events().first { $0.type == .notification })
    guard case .notification(var forged) = genuine.content else { return }
    #expect(try await verified().isClean)
    forged.type = "REFUND"
    let body = EventContent.notification(forged)
    // The event is replaced and the chain made anew, as by somebody without a head to fear.
    let all = try events()
    try ledger.database.write { db in
      try db.execute("DELETE FROM event")
      for event in all {
        var writer = try EventWriter(db, recordedAt: event.recordedAt)
        _ = try writer.append(event.seq == genuine.seq ? body : event.content, evidence: event.evidence)
      }
    }
    let report = try await verified()
    #expect(report.findings.map(\.location) == ["event \(genuine.seq)"], "\(report.findings)")
  }

  private func events() throws -> [LedgerEvent] {
    try ledger.read { db in
      try db.cached("SELECT \(LedgerEvent.columns) FROM event ORDER BY seq").all {
        try LedgerEvent($0, in: ledger.path)
      }
    }
  }

  /// Two accounts with one token have no place in the projections: the event is reported and not folded.
  @Test func aSecondAccountWithTheSameTokenIsFound() throws {
    try ledger.database.write { db in
      var writer = try EventWriter(db, recordedAt: Self.now)
      _ = try writer.append(.accountOpened(AccountID(UUID()), token: token))
    }
    let report = try ledger.verify()
    #expect(report.findings.map(\.location) == ["event \(report.events)"], "\(report.findings)")
  }

  /// What nobody signs cannot be told from what the ledger records: it is counted after the head.
  @Test func whatAHeadDoesNotProveIsCounted() async throws {
    let digest = try await book(fact("2"))
    let head = try ledger.verify().head
    _ = try append(.claim(key("2"), account: carl, isTransfer: false, after: 0), evidence: digest)
    _ = try append(.accountErased(anna))
    let report = try await verified(head: head)
    #expect(report.isClean, "\(report.findings)")
    #expect(report.afterHead?.events == 2 && report.afterHead?.unproven == ["claim": 1, "erased account": 1])
    #expect(try ledger.verify().afterHead == nil)
  }

  /// Transfers, refunds in part, decisions of ties and corrections that the ledger records itself are clean.
  @Test func genuineEventsOfEveryKindAreClean() async throws {
    var policy = try ledger.policy
    policy.secondClaim = .transfer
    _ = try ledger.change(to: policy)
    try await book(fact("1"), for: anna)
    let again = try authority.transaction(fact("1"), bundleID: Self.bundle)
    _ = try await ledger.book(Submission(evidence: again, account: carl, channel: .app), with: verifier)
    #expect(try ledger.entitlements(of: carl).map(\.productID) == ["region.1"])
    try await book(refunded("3"), for: carl)
    let listed = try [fact("4"), fact("1") { $0.productID = "region.other" }].map { fact in
      (fact, try authority.transaction(fact, bundleID: Self.bundle))
    }
    for (_, bytes) in listed {
      let content = try await verifier.verify(bytes, at: Self.now)
      try Snapshot(of: ledger).store(SnapshotPage(evidence: [(bytes, content)], cursor: nil))
    }
    #expect(try Reconciler(ledger: ledger).run(apply: true).applied >= 1)
    let kinds = Set(try events().map(\.type))
    #expect(kinds.isSuperset(of: [.transaction, .claim, .policy, .decision, .correction]), "\(kinds)")
    let report = try await verified()
    #expect(report.isClean, "\(report.findings)")
  }
}
