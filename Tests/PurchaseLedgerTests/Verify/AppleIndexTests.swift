import Support
import TestSupport
import Testing

@testable import PurchaseLedger
@testable import PurchaseVerification

/// All entries of the index that are Apple's: the verdicts under the roots and options they name, and the decoded
/// content of the others.
@Suite(.ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
struct AppleIndexTests {
  static let verdicts = ReceiptIndex.items.filter { $0.verdict != nil && !$0.family.hasPrefix("google") }

  @Test func theIndexHas25Verdicts() { #expect(Self.verdicts.count == 25) }

  @Test(arguments: verdicts)
  func verdictHolds(_ item: ReceiptIndex.Item) async throws {
    let verifier = try EvidenceVerifier(identity: item.identity)
    let refusal = await refusal { try await verifier.read(item.bytes, at: testNow) }
    #expect((refusal == nil) == item.isValid, "\(item.id): \(refusal.map(String.init(describing:)) ?? "accepted")")
  }

  @Test func rejectionsNameTheirReason() async throws {
    let reasons: [String: VerificationError.Code] = [
      "jws-apple-testca-005": .certificateCount, "jws-xcode-008": .certificateCount, "jws-xcode-009": .certificateCount,
      "pkcs7-receipt-032": .untrustedChain, "pkcs7-receipt-037": .untrustedChain, "jws-derived-156": .wrongEnvironment,
      "jws-derived-160": .dateOutOfRange, "jws-derived-162": .certificateNotValidAtSigning,
      "jws-derived-166": .unsupportedAlgorithm, "jws-derived-170": .missingMarker, "jws-derived-172": .certificateCount,
      "jws-derived-174": .untrustedChain,
    ]
    for (id, reason) in reasons {
      let item = ReceiptIndex.item(id)
      let verifier = try EvidenceVerifier(identity: item.identity)
      #expect(await refusal { try await verifier.read(item.bytes, at: testNow) }?.code == reason, "\(id)")
    }
  }

  /// Signed payloads decode to the values in the index.
  @Test(arguments: verdicts.filter { $0.isValid && $0.family.hasPrefix("jws") })
  func payloadMatchesTheIndex(_ item: ReceiptIndex.Item) async throws {
    let evidence = try await EvidenceVerifier(identity: item.identity).read(item.bytes, at: testNow)
    let payload = item.expected["decoded"]?["payload"] ?? item.expected["payload"]
    #expect(evidence.quarantine == nil)
    guard let payload else { return }
    if let date = payload["signedDate"]?.integer { #expect(evidence.signedDate == date) }
    if let type = payload["notificationType"]?.string {
      #expect(evidence.kind == .notification)
      #expect(evidence.notification?.type == type)
      #expect(evidence.notification?.uuid == payload["notificationUUID"]?.string)
    }
    if let id = payload["transactionId"]?.identifier {
      #expect(evidence.transactions.map(\.transactionID) == [id])
      #expect(evidence.transactions.first?.productID == payload["productId"]?.string)
      #expect(evidence.transactions.first?.purchaseDate == payload["purchaseDate"]?.integer)
      #expect(evidence.transactions.first?.revocation?.date == payload["revocationDate"]?.integer)
    }
  }

  @Test(arguments: ["pkcs7-receipt-030", "pkcs7-receipt-036", "pkcs7-receipt-039"])
  func receiptMatchesTheIndex(_ id: String) async throws {
    let item = ReceiptIndex.item(id)
    let evidence = try await EvidenceVerifier(identity: item.identity).read(item.bytes, at: testNow)
    let decoded = try #require(item.expected["decoded"])
    #expect(evidence.kind == .receipt)
    #expect(evidence.environment == .sandbox)
    #expect(evidence.notes == ["sandbox"])
    #expect(evidence.details.contains(.init("bundleId", decoded["bundle_id"]?.string ?? "")))
    #expect(evidence.details.contains(.init("opaqueValue", decoded["opaque_hex"]?.string ?? "")))
    #expect(evidence.details.contains(.init("deviceHash", decoded["sha1_hash_hex"]?.string ?? "")))
    #expect(evidence.signedDate == RFC3339.milliseconds(decoded["creation_date"]?.string ?? ""))
    let purchases = try #require(decoded["in_app"]?.array)
    #expect(evidence.transactions.count == purchases.count)
    for (fact, purchase) in zip(evidence.transactions, purchases) {
      #expect(fact.transactionID == purchase["transaction_id"]?.string)
      #expect(fact.originalTransactionID == purchase["original_transaction_id"]?.string)
      #expect(fact.productID == purchase["product_id"]?.string)
      #expect(fact.quantity == purchase["quantity"]?.integer)
      #expect(fact.purchaseDate == RFC3339.milliseconds(purchase["purchase_date"]?.string ?? ""))
      #expect(fact.expiresDate == RFC3339.milliseconds(purchase["expires_date"]?.string ?? ""))
      #expect(fact.revocation == nil && fact.statement == .purchased)
      #expect(fact.productType == (purchase["product_type"]?.integer == 1 ? .consumable : .autoRenewable))
    }
  }

  @Test func xcodeReceiptInBERIsParsedAlthoughItsSignerIsUntrusted() throws {
    let item = ReceiptIndex.item("pkcs7-receipt-032")
    let signed = try SignedData(try AppleFormat.receiptBytes(in: item.bytes))
    let receipt = try AppReceipt(try ReceiptAttributes(signed.content))
    #expect(receipt.environment == .xcode)
    #expect(receipt.bundleID == item.expected["decoded"]?["bundle_id"]?.string)
    #expect(receipt.facts.map(\.transactionID) == ["0"])
    #expect(receipt.facts.first?.purchaseDate == 1_595_439_194_000)
    #expect(signed.certificates.count == 1)
  }

  @Test(arguments: ReceiptIndex.items.filter { $0.family == "legacy-transaction-receipt" })
  func receiptOfIOS6IsRejectedWithAReason(_ item: ReceiptIndex.Item) async throws {
    let verifier = try EvidenceVerifier(identity: StoreIdentity())
    let refusal = await refusal { try await verifier.read(item.bytes, at: testNow) }
    #expect(refusal?.code == .unsupportedFormat)
    #expect(refusal?.message.contains("iOS 6") == true)
  }

  @Test(arguments: ReceiptIndex.items.filter { $0.family.hasPrefix("verifyreceipt") })
  func verifyReceiptResponseMatchesTheIndex(_ item: ReceiptIndex.Item) async throws {
    let verifier = try EvidenceVerifier(identity: StoreIdentity())
    let status = try #require(JSONReader.read(item.bytes)["status"]?.integer)
    let context = EvidenceContext(environment: .production)
    switch status {
    case 21002, 21006, 21010:
      #expect(
        await refusal { try await verifier.read(item.bytes, context: context, at: testNow) }?.code == .storeRefused)
    case 0 where item.expected["in_app"] != nil:
      let evidence = try await verifier.read(item.bytes, at: testNow)
      #expect(evidence.environment?.rawValue == item.expected["environment"]?.string)
      let ids = Set(evidence.transactions.map(\.transactionID))
      #expect(ids.count == Int(item.expected["distinct_transaction_ids"]?.integer ?? -1))
      #expect(
        Set(evidence.transactions.map(\.originalTransactionID)).count
          == Int(item.expected["distinct_original_ids"]?.integer ?? -1))
      #expect(evidence.transactions.allSatisfy { $0.trust == .unsigned && $0.revocation == nil })
    default:
      let evidence = try await verifier.read(item.bytes, context: context, at: testNow)
      #expect(evidence.quarantine?.code == .retryLater)
      #expect(evidence.transactions.isEmpty)
    }
  }

  @Test func notificationOfVersionOneYieldsOnlyLookUps() async throws {
    let item = ReceiptIndex.items.first { $0.family == "notification-v1-json" }!
    let evidence = try await EvidenceVerifier(identity: StoreIdentity(bundleID: "my.app")).read(
      item.bytes, at: testNow)
    #expect(evidence.kind == .notificationV1)
    #expect(evidence.transactions.isEmpty)
    #expect(evidence.notification?.type == item.expected["notification_type"]?.string)
    #expect(evidence.notification?.uuid.hasPrefix("v1:") == true)
    #expect(evidence.environment == .production)
    #expect(evidence.lookups.map(\.key.id) == ["100000000000001"])
    #expect(evidence.notes == ["look-up"])
    let other = try EvidenceVerifier(identity: StoreIdentity(bundleID: "com.other"))
    #expect(await refusal { try await other.read(item.bytes, at: testNow) }?.code == .wrongBundle)
  }
}

/// The error of a verification, or nil if it succeeds.
func refusal(_ body: () async throws -> VerifiedEvidence) async -> VerificationError? {
  do {
    _ = try await body()
    return nil
  } catch { return error as? VerificationError }
}
