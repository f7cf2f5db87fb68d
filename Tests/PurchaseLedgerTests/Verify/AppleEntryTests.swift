import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger
@testable import PurchaseVerification

/// Entries of the index without a verdict: signed JSON that may be accepted or rejected, and certificates.
@Suite(.ownThread, .enabled(if: TestData.isPresent, Comment(rawValue: TestData.skipMessage)))
struct AppleEntryTests {
  private static let testRoot = "apple+app-store-server-library-java/certs/testCA.der"

  private func verifier(root: String, bundle: String? = nil, app: Int64? = nil) throws -> EvidenceVerifier {
    try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [ReceiptIndex.bytes(of: root)], bundleID: bundle, appAppleID: app))
  }

  @Test func jwsAppleReal028_testNotificationOfApplesOwnChainVerifies() async throws {
    let item = ReceiptIndex.item("jws-apple-real-028")
    let root = ReceiptIndex.item("pki-021").bytes
    let verifier = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [root], bundleID: "com.Abilities"))
    let found = try await verifier.read(item.bytes, at: testNow)
    let payload = try #require(item.expected["payload"])
    #expect(found.kind == .notification && found.environment == .sandbox && found.transactions.isEmpty)
    #expect(found.notification?.type == payload["notificationType"]?.string)
    #expect(found.notification?.uuid == payload["notificationUUID"]?.string)
    #expect(found.signedDate == item.expected["signed_date_ms"]?.integer)
    // Signed under another root of Apple's and for another app.
    let others = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [ReceiptIndex.item("pki-022").bytes], bundleID: "com.Abilities"))
    #expect(await refusal { try await others.read(item.bytes, at: testNow) }?.code == .untrustedChain)
    let stranger = try EvidenceVerifier(identity: StoreIdentity(rootCertificates: [root], bundleID: "com.example"))
    #expect(await refusal { try await stranger.read(item.bytes, at: testNow) }?.code == .wrongBundle)
  }

  @Test func jwsDerived164_aNumericIDEqualsItsText() async throws {
    let item = ReceiptIndex.item("jws-derived-164")
    let found = try await verifier(root: Self.testRoot, bundle: "com.example", app: 41_234).read(
      item.bytes, at: testNow)
    let text = try payload(of: item.bytes)
    let number = try #require(text.firstMatch(of: /"transactionId":\s*(\d+)/), "\(text)")
    #expect(found.transactions.map(\.transactionID) == [String(number.1)])
  }

  /// RFC 7515, section 2, requires base64url without padding.
  @Test func jwsDerived168_paddedPartsAreRejectedOrAcceptedAsOneFact() async throws {
    let verifier = try verifier(root: Self.testRoot, bundle: "com.example", app: 41_234)
    let padded = ReceiptIndex.item("jws-derived-168").bytes
    let plain = padded.filter { $0 != UInt8(ascii: "=") }
    #expect(plain.count < padded.count)
    let books = try TestLedger()
    let account = try books.account()
    var outcomes: [String] = []
    for bytes in [plain, padded, plain] {
      do {
        let found = try await verifier.read(bytes, at: testNow)
        var fact = try #require(found.transactions.first)
        fact.appAccountToken = nil
        try books.book(fact, as: account, bytes: bytes)
        outcomes.append("read")
      } catch let refusal as VerificationError { outcomes.append(refusal.code.rawValue) }
    }
    #expect(Set(outcomes).isSubset(of: ["read", "malformed", "bad-signature"]), "\(outcomes)")
    #expect(try books.count("SELECT count(*) FROM store_transaction") == (outcomes.contains("read") ? 1 : 0))
    #expect(try books.count("SELECT count(*) FROM event WHERE type = \(EventType.transaction.rawValue)") <= 1)
  }

  /// Every certificate of the index is accepted as a pinned root in DER. PEM is rejected with a reason.
  @Test(arguments: ReceiptIndex.items.filter { $0.family == "pki" })
  func pki_rootCertificatesAreAcceptedInDEROnly(_ item: ReceiptIndex.Item) throws {
    let identity = StoreIdentity(rootCertificates: [item.bytes])
    if item.bytes.first == 0x30 {
      _ = try EvidenceVerifier(identity: identity)
    } else {
      let error = #expect(throws: VerificationError.self) { try EvidenceVerifier(identity: identity) }
      #expect(error?.code == .configuration && error?.message.contains("DER") == true)
    }
  }

  /// pki-018 signs pki-019 and is signed by the test root, but carries the marker 6.2.2 and not 6.2.1.
  @Test func pki018_intermediateWithoutTheMarkerIsRejected() async throws {
    #expect(try await reason(leaf: "pki-013", intermediate: "pki-012") == .badSignature)
    #expect(try await reason(leaf: "pki-019", intermediate: "pki-018") == .missingMarker)
    // Both intermediates have the same key and name. Only the marker differs.
    #expect(try await reason(leaf: "pki-019", intermediate: "pki-012") == .badSignature)
  }

  /// Why a JWS with these certificates is rejected. Its signature is of another key, so even a good chain ends in
  /// `badSignature`.
  private func reason(leaf: String, intermediate: String) async throws -> VerificationError.Code? {
    let root = ReceiptIndex.item("pki-010").bytes
    let verifier = try EvidenceVerifier(identity: StoreIdentity(rootCertificates: [root]))
    let certificates = [try der(leaf), try der(intermediate), root]
    let jws = try EphemeralCA().sign(
      Array(EphemeralCA.payload(of: Evidences.fact(), bundleID: Evidences.bundle).utf8),
      header: EphemeralCA.header(certificates: certificates))
    return await refusal { try await verifier.read(jws, at: testNow) }?.code
  }

  /// The certificate in a PEM file, which may start with explanatory text.
  private func der(_ id: String) throws -> [UInt8] {
    let text = String(decoding: ReceiptIndex.item(id).bytes, as: UTF8.self)
    let body = try #require(text.firstMatch(of: /-----BEGIN CERTIFICATE-----([^-]+)-----END/))
    return try #require(Base64.decode(body.1.utf8, skippingSpace: true))
  }

  private func payload(of jws: [UInt8]) throws -> String {
    let parts = jws.split(separator: UInt8(ascii: "."))
    return String(decoding: try #require(Base64.decode(Array(parts[1]))), as: UTF8.self)
  }
}
