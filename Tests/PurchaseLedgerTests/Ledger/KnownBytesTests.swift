import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// Bytes that were accepted before are not verified again: only where they were verified, and only as what they were then.
@Suite(.ownThread) struct KnownBytesTests {
  static let now: Int64 = 1_790_000_000_000
  let folder: TemporaryFolder
  let ledger: Ledger
  let verifier: EvidenceVerifier
  let authority: ThrowAwayAuthority
  let stranger: ThrowAwayAuthority
  let mallory = AccountID(UUID())

  init() throws {
    folder = try TemporaryFolder()
    (authority, stranger) = (try ThrowAwayAuthority(), try ThrowAwayAuthority())
    verifier = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: "org.example.maps"))
    ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    try ledger.openAccounts([(mallory, AccountToken(UUID()))])
  }

  private func transaction(_ authority: ThrowAwayAuthority) throws -> String {
    let fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: "700", originalTransactionID: "700",
      productID: "region.001", productType: .nonConsumable, purchaseDate: Self.now - 10_000, ownership: .purchased,
      signedDate: Self.now - 5000, trust: .signed, statement: .purchased)
    return String(decoding: try authority.transaction(fact, bundleID: "org.example.maps"), as: UTF8.self)
  }

  private func book(_ text: String, as kind: EvidenceKind?) async throws -> Booking {
    try await ledger.book(
      Submission(evidence: Array(text.utf8), kind: kind, account: mallory, channel: .operatorImport), with: verifier)
  }

  /// An unsigned message may hold a forged transaction. It is a hint, however often it comes, and never the transaction.
  @Test func aHintIsNoTransaction() async throws {
    let forged = try transaction(stranger)
    let hint =
      "{\"notification_type\":\"X\",\"bid\":\"org.example.maps\",\"environment\":\"Production\","
      + "\"signedTransactionInfo\":\"\(forged)\"}"
    for kind in [nil, EvidenceKind.notificationV1, .transaction, .notification, .renewal, .receipt, nil, .transaction] {
      _ = try await book(hint, as: kind)
    }
    #expect(try ledger.entitlements(of: mallory).isEmpty)
    #expect(try await book(hint, as: .transaction).outcome == .refused)
    #expect(try await book(forged, as: nil).outcome == .refused)
    #expect(try ledger.verify().isClean)
  }

  /// What was verified is recognised, and is nothing else than what it was.
  @Test func verifiedBytesAreRecognised() async throws {
    let genuine = try transaction(authority)
    #expect(try await book(genuine, as: nil).outcome == .accepted)
    #expect(try await book(genuine, as: nil).outcome == .duplicate)
    #expect(try await book(genuine, as: .transaction).outcome == .duplicate)
    #expect(try await book(genuine, as: .notification).outcome == .refused)
    #expect(try ledger.entitlements(of: mallory).map(\.status) == [.active])
    // Recognised without looking at the signature: a verifier without roots would refuse it otherwise.
    let rootless = try EvidenceVerifier(identity: StoreIdentity(bundleID: "org.example.maps"))
    let piece = Submission(evidence: Array(genuine.utf8), account: mallory, channel: .operatorImport)
    #expect(try await ledger.book(piece, with: rootless).outcome == .duplicate)
  }
}
