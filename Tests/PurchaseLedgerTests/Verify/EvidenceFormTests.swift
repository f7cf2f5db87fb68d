import CryptoExtras
import Foundation
import StoreSimulators
import Support
import TestSupport
import Testing

@testable import PurchaseLedger
@testable import PurchaseVerification

/// What client libraries and pages of the stores' interfaces wrap around evidence.
@Suite(.ownThread) struct EvidenceFormTests {
  private static let jws = "eyJhbGciOiJFUzI1NiJ9.eyJ0cmFuc2FjdGlvbklkIjoiMSJ9.AAAA"
  private static let text = """
    {"orderId":"GPA.1","packageName":"org.example.maps","productId":"region.alps","purchaseTime":1770000000000,\
    "purchaseState":0,"purchaseToken":"t1"}
    """
  private static let token = #"{"packageName":"org.example.maps","productId":"region.alps","purchaseToken":"t1"}"#

  private func quoted(_ text: String) -> String { JSONValue.string(text).text }

  private func pieces(_ text: String) throws -> [String] {
    try EvidenceForm.pieces(in: Array(text.utf8)).map { String(decoding: $0, as: UTF8.self) }
  }

  @Test(arguments: [
    #"{"productId":"a","purchaseToken":"JWS","platform":"ios","store":"apple"}"#,
    #"{"jwsRepresentation":"JWS","productId":"a"}"#, #"{"jwsRepresentationIOS":"JWS","transactionReceipt":"MIIT"}"#,
    #"{"verificationData":{"serverVerificationData":"JWS","localVerificationData":"{}","source":"app_store"}}"#,
    #"{"Store":"AppleAppStore","TransactionID":"1","Payload":"JWS"}"#, #"{"fetch_token":"JWS","app_user_id":"u"}"#,
    #"{"transaction":{"type":"ios-appstore","jwsRepresentation":"JWS"}}"#, #""JWS""#, #"["JWS"]"#,
    #"["{\"purchaseToken\":\"JWS\"}"]"#,
    // React Native IAP 12 and 13 with StoreKit 2; Apple's answer about one transaction.
    #"{"productId":"a","transactionReceipt":"","verificationResultIOS":"JWS"}"#, #"{"signedTransactionInfo":"JWS"}"#,
  ])
  func applesTextIsTakenOutOfItsForm(_ form: String) throws {
    #expect(try pieces(form.replacing("JWS", with: Self.jws)) == [Self.jws], "\(form)")
  }

  /// `TEXT` is Google's text in quotes, `FIELDS` its members.
  @Test(arguments: [
    #"{FIELDS,"receipt":TEXT,"signature":"c2ln"}"#, #"{"data":TEXT,"signature":"c2ln"}"#,
    #"{"dataAndroid":TEXT,"signatureAndroid":"c2ln","productId":"region.alps","purchaseToken":"t1"}"#,
    #"{"transactionReceipt":TEXT,"signatureAndroid":"c2ln"}"#,
    #"{"nativePurchase":{FIELDS,"receipt":TEXT,"signature":"c2ln"}}"#,
  ])
  func googlesTextKeepsItsSignature(_ form: String) throws {
    let form = form.replacing("FIELDS", with: Self.text.dropFirst().dropLast()).replacing(
      "TEXT", with: quoted(Self.text))
    let found = try #require(try pieces(form).first)
    #expect(EvidenceVerifier.detect(Array(form.utf8)) == .googlePurchase)
    #expect(try JSONReader.read(found.utf8)["json"]?.string == Self.text)
    #expect(try JSONReader.read(found.utf8)["signature"]?.string == "c2ln")
  }

  @Test func aPurchaseOfUnityIsNestedText() throws {
    let signed = #"{"json":\#(quoted(Self.text)),"signature":"c2ln"}"#
    let form = #"{"Store":"GooglePlay","TransactionID":"t1","Payload":\#(quoted(signed))}"#
    #expect(try pieces(form) == [signed])
    #expect(try pieces(quoted(form)) == [signed])
  }

  @Test func aPurchaseWithoutSignatureIsAQuestion() throws {
    #expect(try pieces(Self.text) == [Self.token])
    let flutter = """
      {"productID":"region.alps","verificationData":{"localVerificationData":\(quoted(Self.text)),\
      "serverVerificationData":"t1","source":"google_play"}}
      """
    #expect(try pieces(flutter) == [Self.token])
    #expect(EvidenceVerifier.detect(Array(flutter.utf8)) == .googleToken)
    // The token as it is keeps its bytes.
    #expect(try pieces(Self.token) == [Self.token])
  }

  @Test func pagesAndArraysAreTheirPieces() throws {
    let other = Self.jws + "B"
    for form in [
      #"{"revision":"r","hasMore":false,"signedTransactions":["A","B"]}"#, #"["A","B"]"#,
      #"{"hasMore":false,"notificationHistory":[{"signedPayload":"A","sendAttempts":[]},{"signedPayload":"B"}]}"#,
      #"{"data":[{"lastTransactions":[{"signedTransactionInfo":"A"}]},{"transactions":["B"]}]}"#,
    ] {
      let form = form.replacing("\"A\"", with: quoted(Self.jws)).replacing("\"B\"", with: quoted(other))
      #expect(try pieces(form) == [Self.jws, other], "\(form)")
      #expect(throws: VerificationError.self) { try EvidenceForm.piece(in: Array(form.utf8)) }
    }
  }

  @Test(arguments: [
    (#"{"event":{"app_user_id":"u","type":"INITIAL_PURCHASE"},"api_version":"1.0"}"#, "RevenueCat"),
    (#"{"request_date":"x","subscriber":{"entitlements":{}}}"#, "RevenueCat"), (#"{"orders":[]}"#, "orders"),
    (#"{"signedTransactions":[]}"#, "empty"), ("[]", "empty"),
  ])
  func aFormWithoutEvidenceIsRefusedByName(_ form: String, _ name: String) throws {
    let refusal = #expect(throws: VerificationError.self) { try pieces(form) }
    #expect(refusal?.message.contains(name) == true && refusal?.remedy != nil, "\(form)")
  }

  /// What stores sign or answer keeps its bytes: they are known by their digest.
  @Test(arguments: [
    #"{ "json":"{}", "signature":"c2ln" }"#, #"{"receipt":"{}","signature":"c2ln"}"#, #"{"signedPayload":"a.b.c"}"#,
    #"{"status":0,"receipt":{"in_app":[]}}"#, #"{"voidedPurchases":[]}"#, #"{"message":{"data":"e30="}}"#, "{}", "",
    #"{"kind":"androidpublisher#productPurchase","productId":"a","purchaseToken":"t","purchaseTimeMillis":"1"}"#, "{",
  ])
  func evidenceOfTheStoresIsUnchanged(_ text: String) throws { #expect(try pieces(text) == [text]) }

  @Test func utf16IsReadInAnyChunks() throws {
    let text = #"{"note":"Łódź 🗺","jws":"\#(Self.jws)"}"#
    for (mark, encoding) in [([0xff, 0xfe], String.Encoding.utf16LittleEndian), ([0xfe, 0xff], .utf16BigEndian)] {
      let bytes = mark.map { UInt8($0) } + Array(try #require(text.data(using: encoding)))
      #expect(try EvidenceForm.pieces(in: bytes) == [Array(Self.jws.utf8)])
      for size in 1...9 {
        var reader = try #require(UTF16Text(bytes))
        let chunks = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
        #expect(chunks.flatMap { reader.utf8($0) } == Array(text.utf8), "\(size)")
      }
    }
  }

  /// Nesting of any kind ends as pieces or as an error.
  @Test func hostileNestingIsRefused() throws {
    #expect(throws: VerificationError.self) {
      try pieces(String(repeating: "[", count: 20) + "\"x\"" + String(repeating: "]", count: 20))
    }
    let nested = String(repeating: "{\"purchase\":", count: 20) + "{}" + String(repeating: "}", count: 20)
    #expect(throws: VerificationError.self) { try pieces(nested) }
    let deep = String(repeating: "[", count: 100_000)
    #expect(try pieces(deep) == [deep])
    var generator = SeededGenerator(seed: 39)
    let parts = ["{", "}", "[", "]", "\"", ":", ",", "\"Payload\":", "\"data\":", "\"jws\":", "\\", "1", "\u{feff}"]
    for _ in 0..<3_000 {
      let text = (0..<Int.random(in: 1...24, using: &generator)).map { _ in parts.randomElement(using: &generator)! }
      _ = try? pieces(text.joined())
    }
  }

  /// The line's other members stay with each piece.
  @Test func aWrappedPageIsALineForEachPiece() throws {
    let page = #"{"account":"anna","evidence":{"signedTransactions":["\#(Self.jws)","\#(Self.jws)B"]}}"#
    let lines = EvidenceWrapper.pieces(of: .init(source: "f", line: 7, bytes: Array(page.utf8), isTooLarge: false))
    #expect(lines.map(\.line) == [7, 7])
    for (line, piece) in zip(lines, [Self.jws, Self.jws + "B"]) {
      let wrapper = try #require(try EvidenceWrapper(line.bytes))
      #expect(wrapper.account == "anna" && wrapper.evidence == Array(piece.utf8))
    }
  }

  // MARK: Google

  @Test(arguments: [("PURCHASED", Statement.purchased), ("CANCELLED", .revoked)], [false, true])
  func anAnswerOfProductsV2IsAFact(_ state: (String, Statement), _ isTest: Bool) async throws {
    let found = try await v2(state.0, isTest: isTest, products: ["region.alps"])
    let fact = try #require(found.transactions.first)
    #expect(fact.transactionID == "GPA.1" && fact.productID == "region.alps" && fact.purchaseToken == "t1")
    #expect(fact.statement == state.1 && fact.isAcknowledged && fact.purchaseDate == 1_770_000_000_000)
    #expect(fact.environment == (isTest ? .sandbox : .production) && found.quarantine == nil)
  }

  @Test func anOrderOfSeveralProductsIsATransactionForEach() async throws {
    let found = try await v2("PURCHASED", isTest: false, products: ["region.alps", "region.etna"])
    #expect(found.quarantine == nil && found.transactions.map(\.transactionID) == ["GPA.1", "GPA.1/region.etna"])
    #expect(found.transactions.map(\.originalTransactionID) == found.transactions.map(\.transactionID))
    #expect(found.transactions.map(\.productID) == ["region.alps", "region.etna"])
    #expect(try await v2("PURCHASED", isTest: false, products: ["region.alps", "region.alps"]).quarantine != nil)
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let verifier = try EvidenceVerifier(
      identity: .init(googlePublicKey: Array(key.publicKey.derRepresentation), packageName: "org.example.maps"))
    let text = Self.text.dropLast() + #","productIds":["region.etna","region.alps"]}"#
    let signed = try await verifier.verify(
      Array(try SignedPurchase.wrap(String(text), key).utf8), at: GoogleEvidenceTests.now)
    #expect(signed.transactions.map(\.key) == found.transactions.map(\.key))
    #expect(try await v2("PENDING", isTest: false, products: ["region.alps"]).notes.contains("pending"))
  }

  private func v2(_ state: String, isTest: Bool, products: [String]) async throws -> VerifiedEvidence {
    let items = products.map { "{\"productId\":\"\($0)\",\"productOfferDetails\":{\"quantity\":1}}" }
    let text = """
      {"kind":"androidpublisher#productPurchaseV2","orderId":"GPA.1",
      "purchaseStateContext":{"purchaseState":"\(state)"},
      "acknowledgementState":"ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED","productLineItem":[\(items.joined(separator: ","))]
      \(state == "PENDING" ? "" : ",\"purchaseCompletionTime\":\"2026-02-02T02:40:00Z\"")
      \(isTest ? ",\"testPurchaseContext\":{\"fopType\":\"TEST\"}" : "")}
      """
    return try await EvidenceVerifier(identity: .init(packageName: "org.example.maps")).decodeUnsigned(
      Array(text.utf8), context: .init(purchaseToken: "t1"), at: GoogleEvidenceTests.now)
  }

  /// After a rotation both keys count, and no third one.
  @Test func anyOfTheAppsKeysVerifies() async throws {
    let keys = try (0..<3).map { _ in try _RSA.Signing.PrivateKey(keySize: .bits2048) }
    var identity = StoreIdentity(
      googlePublicKey: Array(keys[0].publicKey.derRepresentation), packageName: "org.example.maps")
    identity.otherLicensingKeys = [LicensingKey(der: Array(keys[1].publicKey.derRepresentation))]
    let verifier = try EvidenceVerifier(identity: identity)
    for (index, key) in keys.enumerated() {
      let piece = Array(try SignedPurchase.wrap(Self.text, key).utf8)
      if index < 2 {
        #expect(try await verifier.verify(piece, at: GoogleEvidenceTests.now).transactions.count == 1)
      } else {
        let refusal = await #expect(throws: VerificationError.self) {
          try await verifier.verify(piece, at: GoogleEvidenceTests.now)
        }
        #expect(refusal?.code == .badSignature)
      }
    }
  }

  private static let times: [(from: Int64?, until: Int64?, isValid: Bool)] = [
    (nil, 1, false), (0, nil, true), (nil, 1_770_000_000_001, true), (1_770_000_000_001, nil, false),
  ]

  /// The purchase is of 1,770,000,000,000.
  @Test func aKeySignsOnlyInItsTime() async throws {
    let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    let piece = Array(try SignedPurchase.wrap(Self.text, key).utf8)
    for (from, until, isValid) in Self.times {
      var identity = StoreIdentity(packageName: "org.example.maps")
      identity.otherLicensingKeys = [
        LicensingKey(der: Array(key.publicKey.derRepresentation), from: from, until: until)
      ]
      let verifier = try EvidenceVerifier(identity: identity)
      do {
        _ = try await verifier.verify(piece, at: GoogleEvidenceTests.now)
        #expect(isValid)
      } catch {
        #expect(!isValid && error.code == .badSignature && error.message.contains("valid at the time"))
      }
    }
  }

  // MARK: Apple

  @Test func aTransactionWithoutBundleIDWaits() async throws {
    let evidences = try Evidences()
    let payload = String(decoding: Evidences.payload(replacing: "bundleId", with: "null"), as: UTF8.self)
    let found = try await evidences.verifier().verify(try evidences.authority.sign(payload.utf8), at: Evidences.date)
    #expect(found.quarantine?.code == .incomplete)
    let other = Evidences.payload(replacing: "bundleId", with: "\"org.other\"")
    let refusal = await #expect(throws: VerificationError.self) {
      try await evidences.verifier().verify(try evidences.authority.sign(other), at: Evidences.date)
    }
    #expect(refusal?.code == .wrongBundle)
  }
}
