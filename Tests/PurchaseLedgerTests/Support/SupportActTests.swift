import Foundation
import Support
import TestSupport
import Testing

@testable import Accounts
@testable import PurchaseLedger

/// What operators do for customers is an event and follows from the events: `verify` and `rebuild` agree after each.
@Suite(.ownThread) struct SupportActTests {
  private static let day = TestLedger.day
  private let test: TestLedger
  private let why: ActReason

  init() throws {
    test = try TestLedger()
    why = try ActReason("asked by mail", by: "carol")
  }

  private func owned(_ account: AccountID, in ledger: Ledger? = nil) throws -> [String] {
    try (ledger ?? test.ledger).entitlements(of: account).filter { $0.status == .active }.compactMap(\.productID)
  }

  /// - Parameter acts: How many acts are recorded.
  private func expectFolded(acts: Int) throws {
    let before = try test.projections()
    let report = try test.ledger.verify()
    #expect(report.isClean, "\(report.findings)")
    try test.ledger.rebuild()
    #expect(try test.projections() == before)
    #expect(try test.events(.act) == acts)
  }

  @Test func aPurchaseMovesWithItsTokenAndARefundTakesItFromWhoeverHasIt() throws {
    let (old, new) = (try test.account(), try test.account())
    let token = try test.token(of: old)
    let bought = StoreTransaction.sample("1") { $0.appAccountToken = token }
    try test.book(bought, as: old)
    #expect(try test.ledger.transfer("1", to: new, why).account == new)
    #expect(try owned(new) == ["region.alps"] && owned(old).isEmpty)
    // The buyer's old device presents it again.
    #expect(try test.book(bought, as: old).outcome == .refused)
    #expect(try owned(new) == ["region.alps"])
    try expectFolded(acts: 1)
    try test.book(bought.revoked(at: TestLedger.now))
    #expect(try owned(new).isEmpty && test.ledger.entitlements(of: new).map(\.status) == [.revoked])
    try expectFolded(acts: 1)
  }

  @Test func aGiftEndsAndIsTakenBack() throws {
    let account = try test.account()
    let gift = try test.ledger.grant("region.coast", to: account, until: TestLedger.now + Self.day, why)
    #expect(gift.status == .active && gift.grant.origin == "support" && gift.reason == "support")
    #expect(try owned(account) == ["region.coast"])
    #expect(try test.count("SELECT count(*) FROM posting") == 0)
    #expect(try test.ledger.readStatement { try StoreQuestion.customers($0, of: .apple, in: .production) }.isEmpty)
    try expectFolded(acts: 1)
    let later = try Ledger.openToRead(at: test.path, clock: .fixed(TestLedger.now + Self.day))
    #expect(try later.entitlements(of: account).map(\.status) == [.expired])
    later.close()
    #expect(try test.ledger.revoke(gift.grant.id, why).status == .revoked)
    #expect(try owned(account).isEmpty)
    try expectFolded(acts: 2)
  }

  /// A wrong product: the purchase is taken away, and another one given.
  @Test func aPurchaseIsTakenAwayUntilItIsTransferred() throws {
    let account = try test.account()
    try test.book(.sample("1"), as: account)
    #expect(try test.ledger.revoke("1", why).reason == "support")
    #expect(try owned(account).isEmpty)
    // Evidence that comes again changes nothing.
    try test.book(.sample("1", signed: TestLedger.now), as: account)
    #expect(try owned(account).isEmpty)
    try expectFolded(acts: 1)
    _ = try test.ledger.transfer("1", to: account, why)
    #expect(try owned(account) == ["region.alps"])
    try expectFolded(acts: 2)
  }

  @Test func aSecondAccountIsMergedWithAllThatComesLater() async throws {
    let accounts = test.ledger.accounts
    let first = try await accounts.add(login: "anna", password: "a long password")
    let second = try await accounts.add(login: "anna.k", password: "a long password")
    let (token, session) = (
      try test.token(of: second), try await accounts.signIn(login: "anna.k", password: "a long password", lasting: 1000)
    )
    try test.book(.sample("1") { $0.appAccountToken = token }, as: second)
    try test.ledger.merge(second, into: first, why)
    #expect(try owned(first) == ["region.alps"])
    try test.book(.sample("2") { ($0.appAccountToken, $0.productID) = (token, "region.coast") })
    #expect(try owned(first).sorted() == ["region.alps", "region.coast"] && owned(second).isEmpty)
    #expect(try accounts.find("anna.k") == nil && accounts.account(for: session) == nil)
    #expect(throws: LedgerError.self) { try test.ledger.merge(first, into: second, why) }
    try expectFolded(acts: 1)
  }

  @Test func aPasswordThatIsSetEndsEverySessionAndIsAnEvent() async throws {
    let accounts = test.ledger.accounts
    let anna = try await accounts.add(login: "anna", password: "a long password")
    let session = try await accounts.signIn(login: "anna", password: "a long password", lasting: 1_000_000)
    let generation = try accounts.passwordGeneration(of: anna)
    try test.book(.sample("1"), as: anna)
    try await accounts.changePassword(of: anna, to: "another password", because: why)
    #expect(try accounts.account(for: session) == nil && accounts.passwordGeneration(of: anna) != generation)
    await #expect(throws: LedgerError.self) {
      try await accounts.signIn(login: "anna", password: "a long password", lasting: 1000)
    }
    #expect(try owned(anna) == ["region.alps"])
    try expectFolded(acts: 1)
  }

  @Test func hashedAccountIdsAreLinkedBeforeAndAfterThePurchase() throws {
    let (anna, bert) = (try test.account(), try test.account())
    func buy(_ id: String, of person: String) throws {
      let fact = StoreTransaction.sample(id) { ($0.store, $0.purchaseToken) = (.google, "token-\(id)") }
      var (submission, result) = TestLedger.piece([fact], nil, nil)
      guard case .success(var content) = result else { return }
      content.addTraits(of: (person, nil))
      (submission.evidence, result) = (Array("\(id) \(person)".utf8), .success(content))
      _ = try test.ledger.commit([(submission, result)], progress: nil)
    }
    #expect(try test.ledger.link([("5e884898da", anna)], why) == 1)
    try buy("GPA.1", of: "5e884898da")
    try buy("GPA.2", of: "0b14d501a5")
    #expect(try owned(anna) == ["region.alps"] && owned(bert).isEmpty)
    #expect(try test.ledger.link([("0b14d501a5", bert), ("5e884898da", anna)], why) == 1)
    #expect(try owned(bert) == ["region.alps"])
    try expectFolded(acts: 2)
  }

  @Test func theNilUUIDIsNotAToken() async throws {
    let none = AccountToken("00000000-0000-0000-0000-000000000000")!
    let account = try test.account()
    try test.book(.sample("1") { $0.appAccountToken = none })
    #expect(try test.count("SELECT count(*) FROM entitlement WHERE token IS NOT NULL") == 0)
    await #expect(throws: LedgerError.self) {
      try await test.ledger.accounts.add(login: "nobody", password: "a long password", token: none)
    }
    try test.book(.sample("1", signed: TestLedger.now) { $0.appAccountToken = none }, as: account)
    #expect(try owned(account) == ["region.alps"])
    try expectFolded(acts: 0)
  }

  /// After a restored backup the spool brings back what operators did.
  @Test func actsAreInTheSpoolAndInAnExportOfEvidence() throws {
    let account = try test.account()
    try test.book(.sample("1"), as: account)
    _ = try test.ledger.grant("region.coast", to: account, why)
    _ = try test.ledger.transfer("1", to: account, why)
    var exported = ""
    _ = try test.ledger.exportEvidence { exported += String(decoding: $0, as: UTF8.self) }
    let spool = try String(contentsOfFile: Ledger.spoolPath(of: test.path), encoding: .utf8)
    for lines in [exported, spool] {
      let acts = lines.split(separator: "\n").compactMap { line -> Act? in
        guard case .act(let act)? = try? SpoolLine.account(Array(line.utf8)) else { return nil }
        return act
      }
      #expect(acts.map(\.action) == [.grant, .transfer] && acts[0].subject == "region.coast", "\(lines)")
      #expect(acts.allSatisfy { $0.author == "carol" && $0.reason == "asked by mail" && $0.account == account })
    }
  }

  @Test func whatCannotBeDoneIsSaid() throws {
    let account = try test.account()
    #expect(throws: LedgerError.self) { try test.ledger.transfer("404", to: account, why) }
    #expect(throws: LedgerError.self) { try test.ledger.transfer("404", to: .random(), why) }
    #expect(throws: LedgerError.self) { try test.ledger.grant("", to: account, why) }
    #expect(throws: LedgerError.self) { try test.ledger.grant("x", to: account, until: TestLedger.now, why) }
    #expect(throws: LedgerError.self) { try ActReason(" ", by: "carol") }
    #expect(try test.events(.act) == 0)
  }
}
