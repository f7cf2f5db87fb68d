import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger
@testable import PurchaseVerification

/// Responses and payloads of the App Store Server API from the index, by entry number. Unsigned payloads are signed by
/// an ephemeral certificate authority.
@Suite(.ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
struct AppleModelTests {
  private let evidences: Evidences

  init() throws { evidences = try Evidences() }

  private func model(_ number: String) -> ReceiptIndex.Item { ReceiptIndex.item("api-model-json-\(number)") }

  /// The entry's payload, signed. `environment` replaces that of a developer's machine by a store's.
  private func signed(_ number: String, environment: String? = nil) throws -> [UInt8] {
    let text = String(decoding: model(number).bytes, as: UTF8.self)
    return try evidences.authority.sign(
      Array((environment.map { text.replacing("LocalTesting", with: $0) } ?? text).utf8))
  }

  private func verify(_ bytes: [UInt8], app: Int64? = Evidences.app) async throws -> VerifiedEvidence {
    try await evidences.verifier(app: app).verify(bytes, at: testNow)
  }

  private func code(_ bytes: [UInt8], app: Int64? = Evidences.app) async throws -> VerificationError.Code? {
    let verifier = try evidences.verifier(app: app)
    return await refusal { try await verifier.verify(bytes, at: testNow) }?.code
  }

  @Test(arguments: [
    ("065", 500, 5_000_000), ("067", 400, 9_990_000), ("070", 404, 4_040_019), ("076", 400, 4_000_006),
    ("091", 400, 4_000_187),
  ])
  func entries065To091_theCodeDecidesWhetherAFailureIsRetried(_ number: String, _ status: Int, _ code: Int64) throws {
    let body = try JSONReader.read(model(number).bytes)
    #expect(body["errorCode"]?.integer == code)
    #expect(!AppStoreFailure.isRetryable(status: status, body: body))
    // The neighbouring code differs: 5000000 is permanent, 5000001 is retryable.
    #expect(AppStoreFailure.isRetryable(status: 500, body: try JSONReader.read(Array(#"{"errorCode":5000001}"#.utf8))))
  }

  @Test func entry067_anUnknownCodeFollowsItsStatus() throws {
    let body = try JSONReader.read(model("067").bytes)
    #expect(AppStoreFailure.isRetryable(status: 503, body: body))
  }

  @Test func entry079_anExternalPurchaseTokenIsRecordedAndGrantsNothing() async throws {
    let found = try await verify(signed("079"), app: 55_555)
    #expect(found.kind == .notification && found.transactions.isEmpty && found.quarantine == nil)
    #expect(found.notification?.type == "EXTERNAL_PURCHASE_TOKEN" && found.notification?.subtype == "UNREPORTED")
    #expect(found.environment == .production && found.signedDate == 1_698_148_900_000)
    #expect(try await code(signed("079")) == .wrongApp)
  }

  @Test func entry081_placeholdersInsideASubscriptionNotificationAreRejected() async throws {
    #expect(try await code(signed("081")) == .testEnvironment)
    // The signed parts are placeholders and not JWS.
    #expect(try await code(signed("081", environment: "Production")) == .malformed)
    let opened = try await open(signed("081"))
    let message = try NotificationPayload(opened)
    #expect(message.type == "SUBSCRIBED" && message.subtype == "INITIAL_BUY")
    #expect(NotificationPayload.knownTypes.contains(message.type))
    #expect(message.environment == .localTesting && message.appAppleID == 41_234 && message.bundleID == "com.example")
    #expect(message.signedTransaction == "signed_transaction_info_value")
    #expect(message.signedRenewal == "signed_renewal_info_value")
  }

  @Test func entry082_renewalInfoIsDecodedAndGrantsNothing() async throws {
    #expect(try await code(signed("082")) == .testEnvironment)
    let found = try await verify(signed("082", environment: "Sandbox"))
    #expect(found.kind == .renewal && found.transactions.isEmpty && found.quarantine == nil)
    #expect(found.renewal?.originalTransactionID == "12345" && found.renewal?.productID == "com.example.product")
    #expect(found.signedDate == 1_698_148_800_000)
  }

  @Test func entry084_aSummaryCarriesNoTransaction() async throws {
    #expect(try await code(signed("084")) == .testEnvironment)
    let found = try await verify(signed("084", environment: "Production"))
    #expect(found.kind == .notification && found.transactions.isEmpty && found.quarantine == nil)
    #expect(found.notification?.type == "RENEWAL_EXTENSION" && found.notification?.subtype == "SUMMARY")
    #expect(try await code(signed("084", environment: "Production"), app: 1) == .wrongApp)
  }

  @Test func entry085_aRefundedSubscriptionIsRecordedWithoutAGrant() async throws {
    #expect(try await code(signed("085")) == .testEnvironment)
    let bytes = try signed("085", environment: "Production")
    let found = try await verify(bytes)
    let fact = try #require(found.transactions.first)
    #expect(fact.transactionID == "23456" && fact.originalTransactionID == "12345" && fact.quantity == 1)
    #expect(fact.productType == .autoRenewable && fact.statement == .revoked && fact.ownership == .purchased)
    #expect(fact.revocation == Revocation(date: 1_698_148_950_000, reason: "1"))
    #expect(fact.appAccountToken == AccountToken("7e3fb20b-4cdb-47cc-936d-99d65f608138"))
    #expect(fact.price == Money(milliunits: 10_990, currency: "USD") && fact.expiresDate == 1_698_149_000_000)

    let books = try TestLedger()
    let account = try books.account()
    var own = fact
    own.appAccountToken = nil
    try books.book(own, as: account, bytes: bytes)
    #expect(try books.status("12345") == .revoked)
  }

  @Test func entry089_anUnknownEnvironmentIsQuarantinedWithItsText() async throws {
    let name = try #require(try JSONReader.read(model("089").bytes)["environment"]?.string)
    let found = try await verify(signed("085", environment: name))
    #expect(found.quarantine?.code == .unknownEnvironment && found.transactions.isEmpty)
    #expect(found.environment?.rawValue == "LocalTestingxxx")
  }

  @Test func entry092_aTransactionInfoResponseIsItsTransaction() async throws {
    let answer = String(decoding: model("092").bytes, as: UTF8.self)
    #expect(EvidenceVerifier.detect(Array(answer.utf8)) == .transaction)
    #expect(try await code(Array(answer.utf8)) == .malformed)
    let jws = String(decoding: try evidences.transaction(), as: UTF8.self)
    let found = try await verify(Array(answer.replacing("signed_transaction_info_value", with: jws).utf8))
    #expect(found.kind == .transaction && found.transactions.map(\.transactionID) == ["12345"])
  }

  private func open(_ bytes: [UInt8]) async throws -> JWSVerifier.Opened {
    try await AppleVerifier(identity: StoreIdentity(rootCertificates: [evidences.authority.rootCertificate])).jws
      .open(bytes, trusted: false)
  }
}
