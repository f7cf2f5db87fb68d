import Crypto
import CryptoExtras
import Foundation
import PurchaseLedger
import TestSupport
import Testing

/// Google's evidence, format by format.
@Suite(.ownThread) struct GoogleEvidenceTests {
  static let now: Int64 = 1_790_000_000_000
  static let voidedAt: Int64 = 1_780_000_000_000

  private func verify(
    _ text: String, _ kind: EvidenceKind, identity: StoreIdentity = .init(packageName: "org.example.maps"),
    context: EvidenceContext = .init(productID: "region.alps", purchaseToken: "token-1"), trusted: Bool = false
  ) async throws -> VerifiedEvidence {
    try await GoogleVerifier(identity: identity).verify(
      Array(text.utf8), as: kind, context: context, at: Self.now, trusted: trusted)
  }

  private func resource(_ fields: String = "\"purchaseState\": 0, \"orderId\": \"GPA.1\"") -> String {
    "{\"kind\": \"androidpublisher#productPurchase\", \"purchaseTimeMillis\": \"1770000000000\", \(fields)}"
  }

  @Test func aProductResourceIsAnUnsignedFact() async throws {
    let account = "0B5F2B0C-3C62-4B6C-9E36-5E4F1A2B3C4D"
    let found = try await verify(
      resource(
        """
        "purchaseState": 0, "orderId": "GPA.1..2", "acknowledgementState": 1, "quantity": 3, "purchaseType": 1,
        "obfuscatedExternalAccountId": "\(account)"
        """), .googleProduct)
    let fact = try #require(found.transactions.first)
    #expect(found.environment == .production && found.quarantine == nil)
    #expect(fact.transactionID == "GPA.1..2" && fact.originalTransactionID == "GPA.1")
    #expect(fact.productID == "region.alps" && fact.purchaseToken == "token-1")
    #expect(fact.quantity == 3 && fact.isAcknowledged && fact.reason == "PROMOTION" && fact.trust == .unsigned)
    #expect(fact.appAccountToken == AccountToken(account))
    #expect(fact.signedDate == 1_770_000_000_000 && fact.statement == .purchased)
  }

  /// Recorded HTTP exchanges, with the body as text or as JSON.
  @Test(arguments: [
    (
      #"{"http_status": 200, "body": "{\"purchaseTimeMillis\": \"1\", \"orderId\": \"GPA.1\"}"}"#,
      EvidenceKind.googleProduct
    ),
    (#"{"body": {"purchaseTimeMillis": "1", "orderId": "GPA.1"}, "http_status": 200}"#, .googleProduct),
    (#"{"http_status": 200, "body": "{\"voidedPurchases\": []}"}"#, .googleVoided),
    (#"{"http_status": 503, "body": ""}"#, .googleProduct), (#"{"http_status": 404}"#, .googleProduct),
  ])
  func aRecordedExchangeIsDetectedByItsStatus(_ text: String, _ kind: EvidenceKind) async throws {
    #expect(EvidenceVerifier.detect(Array(text.utf8)) == kind)
    let forced = await outcome { try await verify(text, kind) }
    let verifier = try EvidenceVerifier(identity: .init(packageName: "org.example.maps"))
    let found = await outcome {
      try await verifier.read(
        Array(text.utf8), as: nil, context: .init(productID: "region.alps", purchaseToken: "token-1"), at: Self.now)
    }
    #expect(found == forced)
  }

  private func outcome(_ work: () async throws -> VerifiedEvidence) async -> String {
    do {
      let evidence = try await work()
      return "\(evidence.transactions) \(evidence.quarantine.map { "\($0)" } ?? "")"
    } catch {
      return "\(error)"
    }
  }

  @Test func aLicenceTestersPurchaseIsSandbox() async throws {
    let found = try await verify(resource("\"purchaseType\": 0, \"orderId\": \"GPA.1\""), .googleProduct)
    #expect(found.environment == .sandbox && found.transactions.map(\.environment) == [.sandbox])
    #expect(found.notes == ["sandbox"])
  }

  @Test func numericIDsEqualTheirText() async throws {
    let text = try await verify(resource("\"purchaseState\": \"0\", \"orderId\": \"123\""), .googleProduct)
    let number = try await verify(resource("\"purchaseState\": 0, \"orderId\": 123"), .googleProduct)
    #expect(text.transactions == number.transactions)
  }

  @Test func aConsumedProductIsAConsumable() async throws {
    let found = try await verify(resource("\"consumptionState\": 1, \"orderId\": \"GPA.1\""), .googleProduct)
    #expect(found.transactions.map(\.productType) == [.consumable])
  }

  @Test func aPurchaseWithoutAProductIsIncomplete() async throws {
    let refusal = await #expect(throws: VerificationError.self) {
      try await verify(resource(), .googleProduct, context: .init())
    }
    #expect(refusal?.code == .incomplete)
  }

  @Test func anotherProductThanRequestedIsQuarantined() async throws {
    let found = try await verify(resource("\"orderId\": \"GPA.1\", \"productId\": \"region.etna\""), .googleProduct)
    #expect(found.quarantine?.code == .inconsistent)
  }

  @Test func anUnknownStateIsRecordedAsANotification() async throws {
    let text = resource("\"purchaseState\": 9, \"orderId\": \"GPA.1\"")
    let found = try await verify(text, .googleProduct)
    #expect(found.quarantine == nil && found.transactions.isEmpty && found.notes == ["unknown-type"])
    #expect(found.notification?.type == "purchaseState 9" && found.notification?.transaction?.id == "GPA.1")
    let folder = try TemporaryFolder()
    let ledger = try Ledger.create(
      at: folder.file("ledger.sqlite"), policy: LedgerPolicy(), clock: .fixed(Self.now))
    let submission = Submission(evidence: Array(text.utf8), channel: .operatorImport)
    #expect(try ledger.commit([(submission, .success(found))], progress: nil).map(\.outcome) == [.accepted])
    #expect(try ledger.commit([(submission, .success(found))], progress: nil).map(\.outcome) == [.duplicate])
  }

  @Test func anotherPackageIsRejected() async throws {
    let refusal = await #expect(throws: VerificationError.self) {
      try await verify(
        resource(), .googleProduct, context: .init(productID: "a", packageName: "org.example.other"))
    }
    #expect(refusal?.code == .wrongPackage)
  }

  @Test func evidenceAboveTheCapIsRejected() async throws {
    let refusal = await #expect(throws: VerificationError.self) {
      try await verify(resource(), .googleProduct, identity: .init(evidenceBytesMax: 20))
    }
    #expect(refusal?.code == .tooLarge)
  }

  @Test(arguments: ["", "[]", "{", "17", "{\"message\": {\"data\": \"%\"}}"])
  func otherBytesAreMalformed(_ text: String) async throws {
    let refusal = await #expect(throws: VerificationError.self) { try await verify(text, .googleProduct) }
    #expect(refusal?.code == .malformed)
  }

  @Test(arguments: ["253402300800000", "-1", "1000000000000000000"])
  func datesOutOfRangeAreRejected(_ date: String) async throws {
    let refusal = await #expect(throws: VerificationError.self) {
      try await verify("{\"purchaseTimeMillis\": \"\(date)\", \"orderId\": \"1\"}", .googleProduct)
    }
    #expect(refusal?.code == .dateOutOfRange)
  }

  @Test func aRealTimeNotificationYieldsOnlyALookUp() async throws {
    let message = """
      {"version": "1.0", "packageName": "org.example.maps", "eventTimeMillis": "1770000000000",
       "oneTimeProductNotification": {"version": "1.0", "notificationType": 1, "purchaseToken": "t", "sku": \
       "region.alps"}}
      """
    let envelope = "{\"message\": {\"messageId\": \"77\", \"data\": \"\(Data(message.utf8).base64EncodedString())\"}}"
    let found = try await verify(envelope, .googleNotification)
    #expect(found.transactions.isEmpty && found.notes == ["look-up"])
    #expect(found.notification?.uuid == "77" && found.notification?.type == "oneTimeProductNotification")
    #expect(found.lookups.map(\.purchaseToken) == ["t"] && found.lookups.map(\.productID) == ["region.alps"])
    // Without its envelope, a redelivery has the same id, and a notification of another time has another.
    let bare = try await verify(message, .googleNotification)
    #expect(try await verify(message + " ", .googleNotification).notification == bare.notification)
  }

  @Test func anUnknownNotificationIsRecorded() async throws {
    let found = try await verify(
      """
      {"message": {"messageId": "78", \
      "data": "\(Data(#"{"packageName":"org.example.maps","newThing":{}}"#.utf8).base64EncodedString())"}}
      """,
      .googleNotification)
    #expect(found.notes == ["unknown-type"] && found.notification?.uuid == "78" && found.lookups.isEmpty)
  }

  @Test func theSignatureCoversTheExactBytesOfThePurchase() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let identity = StoreIdentity(
      googlePublicKey: Array(key.publicKey.derRepresentation), packageName: "org.example.maps")
    let text =
      "{\"packageName\":\"org.example.maps\",\"productId\":\"region.alps\",\"orderId\":\"GPA.5\","
      + "\"purchaseTime\":1770000000000,\"purchaseState\":0,\"purchaseToken\":\"t5\"}"
    let piece = try SignedPurchase.wrap(text, key)
    let found = try await verify(piece, .googlePurchase, identity: identity)
    #expect(found.transactions.map(\.trust) == [.signed] && found.environment == nil)
    let forged = piece.replacingOccurrences(of: "region.alps", with: "region.etna")
    let refusal = await #expect(throws: VerificationError.self) {
      try await verify(forged, .googlePurchase, identity: identity)
    }
    #expect(refusal?.code == .badSignature)
    let unchecked = await #expect(throws: VerificationError.self) { try await verify(piece, .googlePurchase) }
    #expect(unchecked?.code == .noLicensingKey)
  }

  @Test func case36_purchaseStatesAreDecodedAndOrderedAtEqualDates() async throws {
    let pending = try await verify(resource("\"purchaseState\": 2, \"orderId\": \"GPA.1\""), .googleProduct)
    #expect(pending.transactions.map(\.statement) == [.pending] && pending.notes == ["pending"])
    let cancelled = try await verify(resource("\"purchaseState\": 1, \"orderId\": \"GPA.1\""), .googleProduct)
    #expect(cancelled.transactions.map(\.statement) == [.revoked])
    let approved = try await verify(resource(), .googleProduct)
    #expect(approved.transactions.map(\.statement) == [.purchased])
    // All three share one key. At equal dates the order of statements decides: pending, purchased, cancelled.
    #expect(Set([pending, cancelled, approved].flatMap(\.transactions).map(\.grantKey)).count == 1)
    #expect(Set([pending, cancelled, approved].map(\.signedDate)).count == 1)
    #expect(pending.transactions[0].statement < approved.transactions[0].statement)
  }

  @Test func case37_anUnacknowledgedPurchaseIsMarked() async throws {
    let open = try await verify(resource("\"acknowledgementState\": 0, \"orderId\": \"GPA.1\""), .googleProduct)
    #expect(open.transactions.map(\.isAcknowledged) == [false])
    #expect(open.transactions.map(\.purchaseToken) == ["token-1"])
    let done = try await verify(resource("\"acknowledgementState\": 1, \"orderId\": \"GPA.1\""), .googleProduct)
    #expect(done.transactions.map(\.isAcknowledged) == [true])
  }

  @Test func case38_theVoidedListOverridesAPurchasedState() async throws {
    let purchased = try await verify(resource(), .googleProduct).transactions[0]
    let page = """
      {"voidedPurchases": [{"kind": "androidpublisher#voidedPurchase", "purchaseToken": "token-1",
        "purchaseTimeMillis": "1770000000000", "voidedTimeMillis": "\(Self.voidedAt)", "orderId": "GPA.1",
        "voidedSource": 0, "voidedReason": 1}]}
      """
    let voided = try #require(try await verify(page, .googleVoided).transactions.first)
    #expect(voided.key == purchased.key && voided.statement == .revoked)
    #expect(voided.signedDate == Self.voidedAt && voided.signedDate > purchased.signedDate)
    #expect(voided.revocation == Revocation(date: Self.voidedAt, reason: "1") && voided.productID == nil)
  }

  @Test func case39_anEmptyVoidedListRevokesNothing() async throws {
    let found = try await verify("{}", .googleVoided)
    #expect(found.transactions.isEmpty && found.notes == ["no-transactions"])
    let partial = try await verify(
      "{\"voidedPurchases\": [{\"orderId\": \"1\", \"voidedTimeMillis\": 1780000000000, \"voidedQuantity\": 1}]}",
      .googleVoided)
    #expect(partial.transactions.map { $0.revocation?.quantity } == [1] && partial.notes == ["partial-refund"])
  }
}

/// Signed purchases as the billing library passes them to the app.
enum SignedPurchase {
  static func wrap(_ text: String, _ key: _RSA.Signing.PrivateKey) throws -> String {
    let signature = try key.signature(
      for: Insecure.SHA1.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5
    ).rawRepresentation.base64EncodedString()
    let fields = try JSONSerialization.data(withJSONObject: ["receipt": text, "signature": signature])
    return String(decoding: fields, as: UTF8.self)
  }
}
