import PurchaseLedger
import StoreSimulators
import Support
import TestSupport
import Testing

/// `verify` takes what a store has signed for this app in an accepted environment, and nothing else.
@Suite struct SignedEvidenceTests {
  private let evidences: Evidences
  private static let package = "org.example.maps"

  init() throws { evidences = try Evidences() }

  private func verifier(_ environments: StoreIdentity.Environments, google: String? = package) throws
    -> EvidenceVerifier
  {
    try EvidenceVerifier(
      identity: StoreIdentity(
        rootCertificates: [evidences.authority.rootCertificate], bundleID: Evidences.bundle,
        environments: environments, packageName: google))
  }

  /// What anybody can type.
  private static let typed: [(String, EvidenceKind)] = [
    (
      """
      {"status": 0, "environment": "Production", "receipt": {"bundle_id": "com.example", "request_date_ms":
      "1794009600000", "in_app": [{"transaction_id": "1", "product_id": "region.alps", "quantity": "1",
      "purchase_date_ms": "1698148900000"}]}}
      """, .verifyReceipt
    ),
    (
      """
      {"purchaseTimeMillis": "1698148900000", "purchaseState": 0, "orderId": "GPA.1", "productId": "region.alps",
      "purchaseToken": "t"}
      """, .googleProduct
    ),
    (#"{"voidedPurchases": [{"orderId": "GPA.1", "voidedTimeMillis": "1698148900000"}]}"#, .googleVoided),
  ]

  @Test(arguments: typed) func anUnsignedAnswerIsReadOnlyByItsOwnName(_ text: String, _ kind: EvidenceKind) async throws
  {
    let (bytes, verifier) = (Array(text.utf8), try verifier(.only(.production)))
    for stated in [nil, kind] {
      #expect(await refusal { try await verifier.verify(bytes, as: stated, at: testNow) }?.code == .unsigned)
      let found = try await verifier.decodeUnsigned(bytes, as: stated, at: testNow)
      #expect(found.kind == kind && found.transactions.map(\.trust) == [.unsigned])
    }
    let signed = try evidences.transaction()
    #expect(try await verifier.verify(signed, at: testNow).transactions.map(\.trust) == [.signed])
    #expect(await refusal { try await verifier.decodeUnsigned(signed, at: testNow) }?.code == .wrongKind)
  }

  @Test func testPurchasesCountWhereTheyAreAccepted() async throws {
    let test = try evidences.transaction(Evidences.fact(environment: .sandbox))
    for (environments, isAccepted) in [
      (.only(.production), false), (.only(.sandbox), true), (.all, true),
    ] as [(StoreIdentity.Environments, Bool)] {
      let verifier = try verifier(environments)
      let refusal = await refusal { try await verifier.verify(test, at: testNow) }
      #expect(refusal?.code == (isAccepted ? nil : .wrongEnvironment), "\(environments)")
    }
  }

  /// Evidence of a store at which the app is not sold is of no app that is known.
  @Test func evidenceOfAStoreWithoutAnAppIsRefused() async throws {
    let apple = try verifier(.all, google: nil)
    let google = try EvidenceVerifier(
      identity: StoreIdentity(packageName: Self.package, googlePublicKey: nil, environments: .all))
    for (text, kind) in Self.typed {
      let other = kind.isOfApple ? google : apple
      let code = await refusal { try await other.decodeUnsigned(Array(text.utf8), at: testNow) }?.code
      #expect(code == (kind.isOfApple ? .noBundleID : .noPackageName), "\(kind)")
    }
  }
}

extension EvidenceKind {
  fileprivate var isOfApple: Bool { self == .verifyReceipt }
}
