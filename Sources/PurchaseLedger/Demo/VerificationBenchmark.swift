/// How fast signed transactions verify: `bench` and tests call it.
package struct VerificationBenchmark: Sendable {
  private let verifier: EvidenceVerifier
  private let pieces: [[UInt8]]
  private let now: Int64

  /// Signs distinct transactions under one throw-away chain, as a store's history has them.
  /// - Complexity: about 25 microseconds a piece.
  package init(pieces count: Int) throws {
    let authority = try ThrowAwayAuthority()
    let date: Int64 = 1_735_689_600_000
    now = date
    verifier = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [authority.rootCertificate], bundleID: "com.example.maps"))
    pieces = try (0..<count).map { index in
      try authority.transaction(
        StoreTransaction(
          store: .apple, environment: .production, transactionID: "\(2_000_000_000_000_000 + index)",
          originalTransactionID: "\(2_000_000_000_000_000 + index)", productID: "region.\(index % 170)",
          productType: .nonConsumable, purchaseDate: date - Int64(index), ownership: .purchased,
          appAccountToken: AccountToken("7e3fb20b-4cdb-47cc-936d-99d65f608138"),
          price: Money(milliunits: 10_990, currency: "USD"), reason: "PURCHASE", signedDate: date, trust: .signed,
          statement: .purchased), bundleID: "com.example.maps",
        extra: "\"originalPurchaseDate\":\(date),\"storefront\":\"USA\",\"storefrontId\":\"143441\","
          + "\"appTransactionId\":\"704000000000000000\"")
    }
  }

  /// Verifies all of them on one core.
  ///
  /// - Parameter trusted: Only decode, as for bytes that were accepted before.
  /// - Returns: Nanoseconds of one piece, and the facts that came out.
  package func run(trusted: Bool = false) async throws -> (nanosecondsEach: Double, facts: Int) {
    // The chain is warm, as it is in all but the first piece of an import.
    if let first = pieces.first { _ = try await verifier.verify(first, at: now) }
    let start = ContinuousClock.now
    var facts = 0
    for piece in pieces { facts += try await verifier.verify(piece, at: now, trusted: trusted).transactions.count }
    let spent = ContinuousClock.now - start
    let nanoseconds = Double(spent.components.seconds) * 1e9 + Double(spent.components.attoseconds) / 1e9
    return (nanoseconds / Double(max(1, pieces.count)), facts)
  }
}
