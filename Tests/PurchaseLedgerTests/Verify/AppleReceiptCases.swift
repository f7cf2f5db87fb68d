import PurchaseLedger
import StoreSimulators
import Support
import TestSupport
import Testing

/// Receipts and `verifyReceipt` responses: the cases of docs/explanation/ledger.md, by number.
@Suite(.ownThread) struct AppleReceiptCases {
  private func verifier(bytesMax: Int = 4_194_304) throws -> EvidenceVerifier {
    try EvidenceVerifier(
      identity: StoreIdentity(
        rootCertificates: [ReceiptAuthority.shared.root], bundleID: Evidences.bundle, evidenceBytesMax: bytesMax))
  }

  @Test(arguments: [false, true])
  func receiptsAreVerifiedWithBothDigests(_ sha1: Bool) async throws {
    let verifier = try verifier()
    let receipt = try ReceiptAuthority.shared.sign(
      MadeReceipt(purchases: [.init(id: "1"), .init(id: "2")]).payload, sha1: sha1)
    let evidence = try await verifier.read(receipt, at: testNow)
    #expect(evidence.transactions.map(\.transactionID) == ["1", "2"])
    #expect(evidence.transactions.allSatisfy { $0.trust == .signed && $0.signedDate == 1_704_067_200_000 })
    var forged = receipt
    forged[receipt.count - 10] ^= 1
    #expect(await refusal { try await verifier.read(forged, at: testNow) }?.code == .badSignature)
    // A changed product id of the same length breaks the signature.
    let place = try #require(receipt.firstRange(of: Array("com.example.region".utf8)))
    forged = receipt
    forged.replaceSubrange(place, with: Array("com.example.empire".utf8))
    #expect(await refusal { try await verifier.read(forged, at: testNow) }?.code == .badSignature)
  }

  /// One signature in 64 ends with the byte of a space, tab or line break.
  @Test func aSignatureEndingInAWhiteSpaceByteIsKeptWhole() async throws {
    let verifier = try verifier()
    var found = false
    for number in 1...2000 where !found {
      let receipt = try ReceiptAuthority.shared.sign(MadeReceipt(purchases: [.init(id: "\(number)")]).payload)
      found = receipt.last.map { [0x20, 0x09, 0x0A, 0x0D].contains($0) } ?? false
      guard found else { continue }
      for ending in ["", "\n", "\r\n  "] {
        let evidence = try await verifier.read(receipt + Array(ending.utf8), at: testNow)
        #expect(evidence.transactions.map(\.transactionID) == ["\(number)"])
      }
      let rest = try #require(await refusal { try await verifier.read(receipt + [0x20, 0x41], at: testNow) })
      #expect(rest.code == .malformed)
    }
    #expect(found)
  }

  @Test func case15_aReceiptNotUnderThePinnedRootIsRejected() async throws {
    let receipt = try ReceiptAuthority.shared.sign(MadeReceipt(purchases: [.init(id: "1")]).payload)
    let other = try EvidenceVerifier(
      identity: StoreIdentity(rootCertificates: [EphemeralCA().rootCertificate]))
    #expect(await refusal { try await other.read(receipt, at: testNow) }?.code == .untrustedChain)
    let xcode = try ReceiptAuthority.shared.sign(MadeReceipt(environment: "Xcode").payload)
    let verifier = try verifier()
    #expect(await refusal { try await verifier.read(xcode, at: testNow) }?.code == .testEnvironment)
  }

  /// Signed evidence is quarantined for review, unsigned evidence is rejected.
  @Test func nonexistentDatesAreNotRecorded() async throws {
    let verifier = try verifier()
    for date in ["2024-02-30T00:00:00Z", "2023-02-29T12:00:00Z"] {
      for purchase in [
        MadeReceipt.Purchase(id: "2", purchaseDate: date), MadeReceipt.Purchase(id: "2", cancellationDate: date),
      ] {
        let payload = MadeReceipt(creationDate: "2024-06-01T00:00:00Z", purchases: [.init(id: "1"), purchase]).payload
        let found = try await verifier.read(ReceiptAuthority.shared.sign(payload), at: testNow)
        #expect(found.quarantine?.code == .inconsistent, "\(found)")
      }
      let created = try ReceiptAuthority.shared.sign(MadeReceipt(creationDate: date).payload)
      #expect(await refusal { try await verifier.read(created, at: testNow) }?.code == .dateOutOfRange)
      let other = try ReceiptAuthority.shared.sign(
        MadeReceipt(bundle: "org.example", purchases: [.init(id: "1", purchaseDate: date)]).payload)
      #expect(await refusal { try await verifier.read(other, at: testNow) }?.code == .wrongBundle)
      let printed = date.replacing("T", with: " ").replacing("Z", with: " Etc/GMT")
      let answer = Self.answer(entries: ["{\"transaction_id\":\"1\",\"purchase_date\":\"\(printed)\"}"])
      #expect(await refusal { try await verifier.read(Array(answer.utf8), at: testNow) }?.code == .malformed)
    }
  }

  @Test func case16_environmentAndReceiptTypeMustAgree() async throws {
    let verifier = try EvidenceVerifier(identity: StoreIdentity())
    for (environment, type, code) in [
      ("Production", "ProductionSandbox", .environmentMismatch), ("Sandbox", "Production", .environmentMismatch),
      ("Production", "ProductionVPPSandbox", .environmentMismatch), ("Production", "ProductionVPP", nil),
      ("Sandbox", "ProductionSandbox", nil),
    ] as [(String, String, VerificationError.Code?)] {
      let answer = Self.answer(
        environment: environment, type: type, entries: [#"{"purchase_date_ms":"1700000000000"}"#])
      #expect(try await verifier.read(Array(answer.utf8), at: testNow).quarantine?.code == code)
    }
  }

  @Test func case27_largeEvidenceIsAcceptedUpToTheCap() async throws {
    let purchases = (1...187).map { MadeReceipt.Purchase(id: "\(1_000_000_000_000_000 + $0)") }
    let receipt = try ReceiptAuthority.shared.sign(MadeReceipt(purchases: purchases, filling: 200).payload)
    #expect(receipt.count > 79_000)
    #expect(try await verifier().read(receipt, at: testNow).transactions.count == 187)

    let evidences = try Evidences()
    let filling = #""offerIdentifier":"\#(String(repeating: "x", count: 11_000))""#
    let transaction = try evidences.authority.transaction(Evidences.fact(), bundleID: Evidences.bundle, extra: filling)
    let message = try evidences.notification("REFUND", of: transaction)
    #expect(message.count > 18_700)
    #expect(try await evidences.verifier().read(message, at: testNow).transactions.count == 1)

    let entries = (1...700).map { #"{"transaction_id":"\#($0)","purchase_date_ms":"1700000000000"}"# }
    let answer = Array(Self.answer(entries: entries, filling: 250).utf8)
    #expect(answer.count > 200_000)
    #expect(try await verifier().read(answer, at: testNow).transactions.count == 700)

    for piece in [receipt, message, answer] {
      let exact = try verifier(bytesMax: piece.count)
      #expect(await refusal { try await exact.read(piece, at: testNow) }?.code != .tooLarge)
      let small = try verifier(bytesMax: piece.count - 1)
      #expect(await refusal { try await small.read(piece, at: testNow) }?.code == .tooLarge)
      #expect(await refusal { try await small.read(piece, as: .receipt, at: testNow) }?.code == .tooLarge)
    }
  }

  @Test(arguments: ["", "\n", "\r\n", " ", "\n\n\t"])
  func case28_base64WithNewlinesIsAccepted(_ separator: String) async throws {
    let receipt = try ReceiptAuthority.shared.sign(MadeReceipt(purchases: [.init(id: "1")]).payload)
    let text = Base64.encode(receipt)
    for width in [1, 63, 64, 76] {
      var lines: [UInt8] = []
      for start in stride(from: 0, to: text.count, by: width) {
        lines += text[start..<min(start + width, text.count)] + Array(separator.utf8)
      }
      #expect(try await verifier().read(lines, at: testNow).transactions.map(\.transactionID) == ["1"])
    }
  }

  @Test func case29_numericIDsInResponsesEqualTheirText() async throws {
    let verifier = try EvidenceVerifier(identity: StoreIdentity())
    let text = Self.answer(entries: [
      #"{"transaction_id":"1000","original_transaction_id":"900","quantity":"2","purchase_date_ms":"1700000000000"}"#
    ])
    let numbers = Self.answer(entries: [
      #"{"transaction_id":1000,"original_transaction_id":900,"quantity":2,"purchase_date_ms":1700000000000}"#
    ])
    let facts = try await verifier.read(Array(text.utf8), at: testNow).transactions
    #expect(facts.map(\.transactionID) == ["1000"] && facts.first?.quantity == 2)
    #expect(try await verifier.read(Array(numbers.utf8), at: testNow).transactions == facts)
  }

  @Test func case30_onlyMillisecondsAndUTCAreRead() async throws {
    let verifier = try EvidenceVerifier(identity: StoreIdentity())
    let forms = [
      #"""
      {"purchase_date_ms":"1594755400000","purchase_date":"garbage",\#
      "purchase_date_pst":"2020-07-14 12:36:40 America/Los_Angeles"}
      """#,
      #"{"purchase_date_ms":1594755400000,"purchase_date":"2020-07-14 7:36:40 PM Etc/GMT"}"#,
      #"{"purchase_date":"2020-07-14 19:36:40 Etc/GMT","purchase_date_pst":"1999-01-01 00:00:00 America/Los_Angeles"}"#,
    ]
    for form in forms {
      let evidence = try await verifier.read(Array(Self.answer(entries: [form]).utf8), at: testNow)
      #expect(evidence.transactions.first?.purchaseDate == 1_594_755_400_000)
    }
    for form in [
      #"{"purchase_date_pst":"2020-07-14 12:36:40 America/Los_Angeles"}"#,
      #"{"purchase_date":"2020-07-14 7:36:40 p.m. Etc/GMT"}"#, #"{"purchase_date":"2020-07-14T19:36:40+0100"}"#,
    ] {
      let answer = Array(Self.answer(entries: [form]).utf8)
      #expect(await refusal { try await verifier.read(answer, at: testNow) } != nil)
    }
    // Dates in receipts include a zone.
    let receipt = try ReceiptAuthority.shared.sign(
      MadeReceipt(purchases: [.init(id: "1", purchaseDate: "2020-07-22T18:33:14+0100")]).payload)
    let fact = try await self.verifier().read(receipt, at: testNow).transactions.first
    #expect(fact?.purchaseDate == 1_595_439_194_000)
  }

  @Test func case31_emptyCancellationDateIsNoRefund() async throws {
    for (date, statement) in [(nil, .purchased), ("", .purchased), ("2023-12-01T00:00:00Z", .revoked)]
      as [(String?, Statement)]
    {
      let purchase = MadeReceipt.Purchase(id: "1", cancellationDate: date)
      let receipt = try ReceiptAuthority.shared.sign(MadeReceipt(purchases: [purchase]).payload)
      let fact = try #require(try await verifier().read(receipt, at: testNow).transactions.first)
      #expect(fact.statement == statement && (fact.revocation != nil) == (statement == .revoked))
    }
    let answer = Self.answer(entries: [
      #"{"purchase_date_ms":"1700000000000","cancellation_date_ms":"","cancellation_date":""}"#
    ])
    let open = try EvidenceVerifier(identity: StoreIdentity())
    #expect(try await open.read(Array(answer.utf8), at: testNow).transactions.first?.statement == .purchased)
  }

  /// They are not recorded. Zero values are not shown.
  @Test func otherPurchaseAttributesAreShownInDetails() async throws {
    let purchases: [MadeReceipt.Purchase] = [
      .init(id: "1", numbers: [1711: 77, 1713: 1, 1719: 0]), .init(id: "2", numbers: [1711: 0, 1719: 1]),
    ]
    let receipt = try ReceiptAuthority.shared.sign(MadeReceipt(purchases: purchases).payload)
    let details = try await verifier().read(receipt, at: testNow).details.filter { $0.name.contains(" ") }
    #expect(
      details == [
        .init("originalPurchaseDate 1", "1698148900000"), .init("webOrderLineItemId 1", "77"),
        .init("isTrialPeriod 1", "true"), .init("originalPurchaseDate 2", "1698148900000"),
        .init("isInIntroOfferPeriod 2", "true"),
      ])
  }

  @Test(arguments: ["adam_id", "app_item_id"]) func aResponseForAnotherAppIsRejected(_ name: String) async throws {
    let verifier = try EvidenceVerifier(identity: StoreIdentity(bundleID: Evidences.bundle, appAppleID: 41_234))
    func answer(_ id: String, _ environment: String = "Production") -> [UInt8] {
      Array(
        Self.answer(
          environment: environment, type: environment == "Production" ? environment : "ProductionSandbox",
          entries: [#"{"purchase_date_ms":"1700000000000"}"#]
        ).replacing(#""receipt":{"#, with: #""receipt":{"\#(name)":\#(id),"#).utf8)
    }
    #expect(await refusal { try await verifier.read(answer("99"), at: testNow) }?.code == .wrongApp)
    for id in ["41234", #""41234""#, "0"] {
      #expect(try await verifier.read(answer(id), at: testNow).transactions.count == 1, "\(id)")
    }
    #expect(try await verifier.read(answer("99", "Sandbox"), at: testNow).transactions.count == 1)
  }

  @Test func case32_anEmptyListOfPurchasesHasNoFacts() async throws {
    let receipt = try ReceiptAuthority.shared.sign(MadeReceipt().payload)
    let evidence = try await verifier().read(receipt, at: testNow)
    #expect(evidence.transactions.isEmpty && evidence.notes == ["no-transactions"] && evidence.quarantine == nil)
    let answer = Array(Self.answer(entries: []).utf8)
    let open = try EvidenceVerifier(identity: StoreIdentity())
    #expect(try await open.read(answer, at: testNow).notes == ["no-transactions"])
  }

  @Test func case33_inconclusiveResponsesAreQuarantined() async throws {
    let verifier = try EvidenceVerifier(identity: StoreIdentity())
    for answer in [
      "{}", #"{"status":21004}"#, #"{"status":21005}"#, #"{"status":21007}"#, #"{"status":21008}"#,
      #"{"status":21009}"#,
      #"{"status":21100}"#, #"{"status":21150,"is-retryable":true}"#, #"{"status":21199,"is-retryable":"1"}"#,
      #"{"status":"21009"}"#, #"{"status":0}"#, #"{"status":401}"#,
    ] {
      let evidence = try await verifier.read(Array(answer.utf8), at: testNow)
      #expect(evidence.quarantine?.code == .retryLater && evidence.transactions.isEmpty, "\(answer)")
    }
    for answer in [
      #"{"status":21000}"#, #"{"status":21002}"#, #"{"status":21003}"#, #"{"status":21006}"#, #"{"status":21010}"#,
      #"{"status":21150,"is-retryable":false}"#,
    ] {
      #expect(
        await refusal { try await verifier.read(Array(answer.utf8), at: testNow) }?.code == .storeRefused, "\(answer)"
      )
    }
  }

  /// A response with the given entries. Missing ids are added.
  private static func answer(
    environment: String = "Production", type: String = "Production", entries: [String], filling: Int = 0
  ) -> String {
    let whole = entries.map { entry in
      var entry = entry.dropLast()
      if !entry.contains("\"transaction_id\"") { entry += #","transaction_id":"1""# }
      return entry + #","product_id":"com.example.region","note":"\#(String(repeating: "n", count: filling))"}"#
    }
    return
      #"{"status":0,"environment":"\#(environment)","receipt":{"receipt_type":"\#(type)","bundle_id":"com.example","#
      + #""request_date_ms":"1704067200000","in_app":[\#(whole.joined(separator: ","))]}}"#
  }
}
