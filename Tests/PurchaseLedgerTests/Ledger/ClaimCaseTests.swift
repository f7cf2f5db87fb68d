import Foundation
import TestSupport
import Testing

@testable import PurchaseLedger

/// Which account owns a grant when accounts present evidence.
@Suite(.ownThread) struct ClaimCaseTests {
  @Test func case09_evidenceOfAccountAPresentedByBIsRefusedAndRecorded() throws {
    let test = try TestLedger()
    let a = try test.account()
    let b = try test.account()
    let token = try test.token(of: a)
    let booking = try test.book(.sample { $0.appAccountToken = token }, as: b, channel: .app)
    #expect(booking.outcome == .refused && booking.reason?.code == .tokenOfAnotherAccount)
    #expect(try test.owner("1") == a)
    #expect(try test.events(.claim) == 1)
  }

  @Test func case10_theFirstClaimAssignsTheGrant() throws {
    let test = try TestLedger()
    let a = try test.account()
    #expect(try test.book(.sample()).outcome == .accepted)
    #expect(try test.owner("1") == nil)
    #expect(try test.book(.sample(), as: a).outcome == .accepted)
    #expect(try test.owner("1") == a)
    #expect(try test.book(.sample(), as: a).outcome == .duplicate)
  }

  @Test(arguments: [LedgerPolicy.SecondClaim.refuse, .transfer])
  func case11_aSecondClaimIsRefusedOrTransferredNeverBoth(_ mode: LedgerPolicy.SecondClaim) throws {
    let test = try TestLedger { $0.secondClaim = mode }
    let a = try test.account()
    let b = try test.account()
    try test.book(.sample(), as: a)
    let second = try test.book(.sample(), as: b)
    #expect(try test.count("SELECT count(*) FROM entitlement WHERE status = 1") == 1)
    switch mode {
    case .refuse:
      #expect(second.outcome == .refused && second.reason?.code == .claimedByAnotherAccount)
      #expect(try test.owner("1") == a)
      // A repeated claim adds no event.
      let events = try test.events(.claim)
      #expect(try test.book(.sample(), as: b).outcome == .refused)
      #expect(try test.events(.claim) == events)
    case .transfer:
      #expect(second.outcome == .accepted)
      #expect(try test.owner("1") == b)
      #expect(try test.ledger.entitlements(of: a).isEmpty)
      // Grants can be transferred back any number of times.
      #expect(try test.book(.sample(), as: a).outcome == .accepted)
      #expect(try test.owner("1") == a)
    }
  }

  @Test func case12_theTokenOfAnOpenAccountOutranksATransfer() throws {
    let test = try TestLedger { $0.secondClaim = .transfer }
    let a = try test.account()
    let b = try test.account()
    let token = try test.token(of: a)
    let fact = StoreTransaction.sample { $0.appAccountToken = token }
    try test.book(fact, as: a)
    let booking = try test.book(fact, as: b)
    #expect(booking.outcome == .refused && booking.reason?.code == .tokenOfAnotherAccount)
    #expect(try test.owner("1") == a)
  }

  @Test func case13_aSilentRefreshMovesNoGrant() throws {
    let test = try TestLedger { $0.secondClaim = .transfer }
    let a = try test.account()
    let b = try test.account()
    try test.book(.sample(), as: a)
    for _ in 0..<3 {
      #expect(try test.book(.sample(), as: b, isExplicit: false).outcome == .refused)
      #expect(try test.book(.sample(), as: a, isExplicit: false).outcome == .duplicate)
      #expect(try test.owner("1") == a)
    }
    #expect(try test.book(.sample(), as: b, isExplicit: true).outcome == .accepted)
    #expect(try test.owner("1") == b)
  }

  @Test func case43_anErasedAccountsGrantsCanBeClaimedAgain() throws {
    let test = try TestLedger()
    let a = try test.account()
    let token = try test.token(of: a)
    let b = try test.account()
    try test.book(.sample("1"), as: a)
    try test.book(.sample("2") { $0.appAccountToken = token }, as: a)
    // Refused while A is open, so B has a void claim already.
    #expect(try test.book(.sample("2") { $0.appAccountToken = token }, as: b).outcome == .refused)
    let money = try test.projections()["posting"]
    try test.erase(a)
    #expect(try test.owner("1") == nil && test.owner("2") == nil)
    #expect(try test.projections()["posting"] == money)
    #expect(try test.book(.sample("1"), as: b).outcome == .accepted)
    #expect(try test.book(.sample("2") { $0.appAccountToken = token }, as: b).outcome == .accepted)
    #expect(try test.owner("1") == b && test.owner("2") == b)
    #expect(try test.book(.sample("1"), as: a).reason?.code == .noSuchAccount)
  }

  @Test func anAccountOpenedLaterOwnsTheGrantsOfItsToken() throws {
    let test = try TestLedger()
    let token = AccountToken.random()
    let b = try test.account()
    let fact = StoreTransaction.sample { $0.appAccountToken = token }
    #expect(try test.book(fact, as: b).outcome == .accepted)
    #expect(try test.owner("1") == b)
    let a = try test.account(token: token)
    #expect(try test.owner("1") == a)
    #expect(try test.book(fact, as: b).reason?.code == .tokenOfAnotherAccount)
  }

  @Test func aTokenWithoutAccountHasNoOwnerUnderThePolicyRefuse() throws {
    let test = try TestLedger { $0.unknownToken = .refuse }
    let b = try test.account()
    let token = AccountToken.random()
    let fact = StoreTransaction.sample { $0.appAccountToken = token }
    #expect(try test.book(fact, as: b).reason?.code == .tokenOfAnotherAccount)
    #expect(try test.owner("1") == nil)
    let a = try test.account(token: token)
    #expect(try test.owner("1") == a)
  }

  @Test func evidenceOfSeveralTransactionsIsAcceptedIfOneBelongsToTheClaimant() throws {
    let test = try TestLedger()
    let a = try test.account()
    let b = try test.account()
    try test.book(.sample("1"), as: a)
    let booking = try test.book(.sample("1"), .sample("2"), as: b)
    #expect(booking.outcome == .accepted && booking.notes.contains("partly-claimed"))
    #expect(booking.results.map(\.outcome) == [.refused, .accepted])
    #expect(try test.owner("1") == a && test.owner("2") == b)
  }

  @Test func unsignedEvidenceIsAcceptedFromTheOperatorOnly() throws {
    let test = try TestLedger()
    let a = try test.account()
    let fact = StoreTransaction.sample { $0.trust = .unsigned }
    #expect(try test.book(fact, as: a, channel: .app).reason?.code == .unsigned)
    #expect(try test.events(.transaction) == 0)
    #expect(try test.book(fact, as: a, channel: .operatorImport).outcome == .accepted)
    let strict = try TestLedger { $0.unsignedEvidence = .refuse }
    #expect(try strict.book(fact).reason?.code == .unsigned)
  }

  /// A later fact has a token without account: the first claimant owns the grant, in any order of the facts.
  @Test(arguments: [[0, 1], [1, 0]], [LedgerPolicy.UnknownToken.claimable, .refuse])
  func aClaimWithTheAccountsOwnTokenIsRecorded(_ order: [Int], _ unknown: LedgerPolicy.UnknownToken) throws {
    let test = try TestLedger { $0.unknownToken = unknown }
    let a = try test.account()
    let b = try test.account()
    let token = try test.token(of: a)
    let later = StoreTransaction.sample { $0.appAccountToken = .random() }
    let older = StoreTransaction.sample(signed: later.signedDate - 1000) { $0.appAccountToken = token }
    for index in order {
      let booking = index == 0 ? try test.book(older, as: a) : try test.book(later)
      guard index == 0 else { continue }
      let isRefused = unknown == .refuse && order[0] == 1
      #expect(booking.outcome == (isRefused ? .refused : .accepted))
      #expect(booking.reason?.code == (isRefused ? .tokenOfAnotherAccount : nil))
    }
    #expect(try test.owner("1") == (unknown == .claimable ? a : nil))
    #expect(try test.book(later, as: b).outcome == .refused)
    #expect(try test.ledger.verify().isClean)
  }
}
