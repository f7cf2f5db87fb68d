import Foundation
import PurchaseLedger
import TestSupport
import Testing

/// Google's entries of the optional test data.
@Suite(.ownThread, .enabled(if: TestData.isPresent, "\(TestData.skipMessage)"))
struct GoogleDataTests {
  private func bytes(_ file: String) throws -> [UInt8] {
    Array(try Data(contentsOf: TestData.url("receipts/\(file)")))
  }

  private func product(_ name: String) async throws -> VerifiedEvidence {
    try await GoogleVerifier(identity: .init()).verify(
      bytes("jnbt+candy_check/google/\(name)"), as: .googleProduct, context: .init(productID: "p", purchaseToken: "t"),
      at: 1_700_000_000_000, trusted: false)
  }

  @Test func entry093_aValidUnconsumedProductIsPurchased() async throws {
    let fact = try #require(try await product("product_purchases-valid_but_not_consumed.json").transactions.first)
    #expect(fact.transactionID == "123" && fact.statement == .purchased && fact.isAcknowledged)
    // The recording is dated in January 1970.
    #expect(fact.purchaseDate == 123_456_789 && fact.productType == .unknown)
  }

  @Test(arguments: [
    "product_purchases-permission_denied.json", "subscription_purchases-permission_denied.json",
  ])
  func entries095And100_aDeniedPermissionIsQuarantined(_ name: String) async throws {
    let found = try await product(name)
    #expect(found.quarantine?.code == .retryLater && found.transactions.isEmpty)
    #expect(found.quarantine?.message.contains("401") == true)
  }

  @Test func entry096_anAcknowledgementHasNoTransaction() async throws {
    let found = try await product("product_acknowledgements-acknowledged.json")
    #expect(found.quarantine == nil && found.transactions.isEmpty && found.notes == ["no-transactions"])
    #expect(found.details == [.init("httpStatus", "204")])
  }

  @Test(arguments: [("normal.json", true), ("invalid-signature.json", false)])
  func entries103And104_theSignatureDecides(_ name: String, isValid: Bool) async throws {
    let piece = try bytes("awa+go-iap/google/\(name)")
    let object = try #require(try JSONSerialization.jsonObject(with: Data(piece)) as? [String: String])
    // The key beside the signature configures the verifier. A key inside evidence is never trusted.
    let key = try #require(object["pubkey"].flatMap { Data(base64Encoded: $0) })
    let verifier = try GoogleVerifier(identity: .init(googlePublicKey: Array(key), packageName: "my.package"))
    let result = await Result { () async throws(VerificationError) in
      try await verifier.verify(piece, as: .googlePurchase, context: .init(), at: 1_700_000_000_000, trusted: false)
    }
    guard isValid else {
      #expect(throws: VerificationError.self) { try result.get() }
      return
    }
    let fact = try #require(try result.get().transactions.first)
    #expect(fact.transactionID == "GPA.xxxx-xxxx-xxxx-xxxxx" && fact.productID == "myproduct")
    #expect(fact.purchaseDate == 1_437_564_796_303 && fact.purchaseToken == "some-token" && fact.trust == .signed)
  }
}

extension Result {
  fileprivate init(_ body: () async throws(Failure) -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
