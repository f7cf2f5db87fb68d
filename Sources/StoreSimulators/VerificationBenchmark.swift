import PurchaseLedger

/// Measures the verification of signed transactions, for `bench` and tests.
package struct VerificationBenchmark: Sendable {
  private let verifier: EvidenceVerifier
  private let pieces: [[UInt8]]
  private let now: Int64

  /// Signs distinct transactions under one ephemeral chain, like those of a store's history.
  /// - Complexity: About 25 microseconds for each piece.
  package init(pieces count: Int) throws {
    let authority = try EphemeralCA()
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

  /// Verifies all pieces on one core.
  ///
  /// - Parameter trusted: Decodes only, like evidence that was accepted before.
  /// - Returns: Nanoseconds for each piece, and the number of decoded facts.
  package func run(trusted: Bool = false) async throws -> (nanosecondsEach: Double, facts: Int) {
    // Caches the chain, as in all but the first piece of an import.
    if let first = pieces.first { _ = try await verifier.read(first, at: now) }
    let start = ContinuousClock.now
    var facts = 0
    for piece in pieces { facts += try await verifier.read(piece, at: now, trusted: trusted).transactions.count }
    let spent = ContinuousClock.now - start
    let nanoseconds = Double(spent.components.seconds) * 1e9 + Double(spent.components.attoseconds) / 1e9
    return (nanoseconds / Double(max(1, pieces.count)), facts)
  }
}
