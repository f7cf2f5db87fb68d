import TestSupport
import Testing

@testable import PurchaseLedger

/// Policies with other values than their defaults.
@Suite(.ownThread) struct PolicyTests {
  @Test func untypedProductsCanBeWithheld() throws {
    for (value, status) in [(.grant, .active), (.withhold, .withheld)]
      as [(LedgerPolicy.Granting, Entitlement.Status)]
    {
      let test = try TestLedger { $0.untypedProducts = value }
      try test.book(.sample { $0.productType = .unknown })
      #expect(try test.status("1") == status)
      // A fact that states the type decides.
      try test.book(.sample { $0.signedDate += 1 })
      #expect(try test.status("1") == .active)
    }
  }

  @Test func familySharingCanBeWithheld() throws {
    for (value, status) in [(.grant, .active), (.withhold, .withheld)]
      as [(LedgerPolicy.Granting, Entitlement.Status)]
    {
      let test = try TestLedger { $0.familySharing = value }
      try test.book(.sample { $0.ownership = .familyShared })
      try test.book(.sample("2"))
      #expect(try test.status("1") == status && test.status("2") == .active)
      #expect(try test.amounts("1") == [1: 0])
    }
  }

  /// What another policy would do is counted, and nothing is changed until it is asked for.
  @Test func aChangeOfPolicyIsCountedFirst() throws {
    let test = try TestLedger()
    for id in 1...3 { try test.book(.sample("\(id)") { $0.ownership = .familyShared }) }
    try test.book(.sample("4"))
    var policy = try test.ledger.policy
    policy.familySharing = .withhold
    let before = try test.projections()
    let effect = try test.ledger.effect(of: policy)
    #expect(effect.settings == [.init(name: "family-sharing", present: "grant", wanted: "withhold")])
    #expect(effect.moves == [.init(from: .active, to: .withheld, count: 3)])
    #expect(effect.endingCount == 3 && effect.beginningCount == 0)
    #expect(try test.projections() == before && test.events(.policy) == LedgerPolicy().settings.count - 3)
    #expect(try test.ledger.change(to: policy) == effect)
    #expect(try test.status("3") == .withheld && test.status("4") == .active)
    #expect(try test.ledger.effect(of: policy).settings.isEmpty)
    policy.familySharing = .grant
    #expect(try test.ledger.change(to: policy).beginningCount == 3)
    #expect(try test.ledger.verify().isClean)
  }

  @Test func purchasesAreAcknowledgedAfterAConfiguredTime() throws {
    let test = try TestLedger { $0.acknowledgeAfterSeconds = 3600 }
    for (id, age) in [("GPA.1", 3600), ("GPA.2", 3599)] as [(String, Int64)] {
      try test.book(
        .sample(id) {
          ($0.store, $0.purchaseToken) = (.google, "token-\(id)")
          $0.purchaseDate = TestLedger.now - age * 1000
        })
    }
    let seconds = try test.ledger.policy.acknowledgeAfterSeconds
    #expect(try test.ledger.unacknowledged(olderThan: Int64(seconds) * 1000).map(\.key.id) == ["GPA.1"])
  }

  @Test(arguments: [0, 300, 86_400]) func theClockSkewIsAPolicy(_ seconds: Int) async throws {
    let test = try TestLedger { $0.futureSkewSeconds = seconds }
    let identity = StoreIdentity(packageName: "org.example.maps").bounded(by: try test.ledger.policy)
    for (later, isQuarantined) in [(0, false), (1, true)] as [(Int64, Bool)] {
      let date = TestLedger.now + Int64(seconds) * 1000 + later
      let answer = "{\"purchaseTimeMillis\": \"\(date)\", \"purchaseState\": 0, \"orderId\": \"GPA.1\"}"
      let found = try await EvidenceVerifier(identity: identity).read(
        Array(answer.utf8), context: .init(productID: "region.alps"), at: TestLedger.now)
      #expect((found.quarantine?.code == .signedInFuture) == isQuarantined, "\(later)")
    }
  }
}
