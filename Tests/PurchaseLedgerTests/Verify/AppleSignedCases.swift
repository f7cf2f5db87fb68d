import Foundation
import PurchaseLedger
import StoreSimulators
import Support
import TestSupport
import Testing

/// Signed JSON: the cases of docs/explanation/ledger.md, by number.
@Suite(.ownThread) struct AppleSignedCases {
  @Test(arguments: [
    "1700000000000000", "1700000000000000.0", "1000000000000000000", "9223372036854775807", "99999999999999999999",
    "1e300",
    "-1", "-9223372036854775808", "0", "946684799999", "32503680000000", "\"soon\"",
  ])
  func case01_signedDateInTheYear55840IsRejected(_ date: String) async throws {
    let evidences = try Evidences()
    let jws = try evidences.authority.sign(Evidences.payload(replacing: "signedDate", with: date))
    let verifier = try evidences.verifier()
    #expect(await refusal { try await verifier.verify(jws, at: testNow) }?.code == .dateOutOfRange)
  }

  @Test(arguments: [(false, true), (true, false), (false, false)])
  func case02_chainWithoutMarkersIsRejected(_ leaf: Bool, _ intermediate: Bool) async throws {
    var shape = EphemeralCA.Shape()
    (shape.leafMarker, shape.intermediateMarker) = (leaf, intermediate)
    let evidences = try Evidences(shape)
    let verifier = try evidences.verifier()
    let jws = try evidences.transaction()
    #expect(await refusal { try await verifier.verify(jws, at: testNow) }?.code == .missingMarker)
  }

  @Test func case03_otherCertificatesAndAlgorithmsAreRejected() async throws {
    let evidences = try Evidences()
    let authority = evidences.authority
    let (leaf, middle, root) = (authority.leafCertificate, authority.intermediateCertificate, authority.rootCertificate)
    let lists: [([[UInt8]], VerificationError.Code)] = [
      ([], .certificateCount), ([leaf], .certificateCount), ([leaf, middle], .certificateCount),
      ([leaf, middle, root, root], .certificateCount), ([middle, leaf, root], .untrustedChain),
      ([leaf, root, middle], .untrustedChain), ([root, middle, leaf], .untrustedChain),
      ([leaf, leaf, leaf], .untrustedChain),
      ([leaf, [1, 2, 3], root], .malformed),
    ]
    let verifier = try evidences.verifier()
    let payload = Array(EphemeralCA.payload(of: Evidences.fact(), bundleID: Evidences.bundle).utf8)
    for (list, code) in lists {
      let jws = try authority.sign(payload, header: EphemeralCA.header(certificates: list))
      #expect(await refusal { try await verifier.verify(jws, at: testNow) }?.code == code)
    }
    for algorithm in ["none", "HS256", "ES384", "es256", ""] {
      let header = EphemeralCA.header(certificates: [leaf, middle, root], algorithm: algorithm)
      let jws = try authority.sign(payload, header: header)
      #expect(await refusal { try await verifier.verify(jws, at: testNow) }?.code == .unsupportedAlgorithm)
    }
    // Another authority with the same names is not trusted: only the pinned root is.
    let stranger = try Evidences().transaction()
    #expect(await refusal { try await verifier.verify(stranger, at: testNow) }?.code == .untrustedChain)
  }

  /// The third certificate must be the pinned root, and the intermediate's key usage must include keyCertSign.
  @Test func otherRootsAndIntermediatesWithoutKeyCertSignAreRejected() async throws {
    let evidences = try Evidences()
    let authority = evidences.authority
    let verifier = try evidences.verifier()
    let payload = Array(EphemeralCA.payload(of: Evidences.fact(), bundleID: Evidences.bundle).utf8)
    var altered = authority.rootCertificate
    altered[altered.count - 1] ^= 1
    for third in [
      try EphemeralCA().rootCertificate, authority.leafCertificate, authority.intermediateCertificate, altered,
    ] {
      let header = EphemeralCA.header(
        certificates: [authority.leafCertificate, authority.intermediateCertificate, third])
      let jws = try authority.sign(payload, header: header)
      #expect(await refusal { try await verifier.verify(jws, at: testNow) }?.code == .untrustedChain)
    }
    var shape = EphemeralCA.Shape()
    shape.intermediateMaySign = false
    let unfit = try Evidences(shape)
    let jws = try unfit.transaction()
    let other = try unfit.verifier()
    let found = await refusal { try await other.verify(jws, at: testNow) }
    #expect(
      found?.code == .untrustedChain && found?.message.contains("keyCertSign") == true, "\(String(describing: found))")
  }

  /// JSON parsers disagree on which of two duplicates counts. The store signed the payload, so it is quarantined for
  /// review.
  @Test func signedDuplicateNamesAreQuarantined() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    for extra in [#""productId":"com.example.other""#, #""more":[{"a":1,"a":1}]"#] {
      let jws = try evidences.authority.transaction(Evidences.fact(), bundleID: Evidences.bundle, extra: extra)
      for piece in [jws, try evidences.notification("ONE_TIME_CHARGE", of: jws)] {
        #expect(try await verifier.verify(piece, at: testNow).quarantine?.code == .inconsistent, "\(extra)")
      }
    }
    let message = #"""
      {"notificationType":"TEST","notificationUUID":"u","signedDate":\#(Evidences.date),
      "data":{"bundleId":"\#(Evidences.bundle)","bundleId":"org.example","environment":"Sandbox"}}
      """#
    let found = try await verifier.verify(evidences.authority.sign(Array(message.utf8)), at: testNow)
    #expect(found.quarantine?.code == .inconsistent)
  }

  @Test(arguments: [
    ("USD", true), ("HRK", true), ("usd", false), ("Usd", false), ("US", false), ("US1", false), ("EURO", false),
    ("ZZZ", false),
  ])
  func currenciesMustBeOfISO4217(_ currency: String, _ isOne: Bool) async throws {
    let evidences = try Evidences()
    var fact = Evidences.fact()
    fact.price = Money(milliunits: 990, currency: currency)
    let found = try await evidences.verifier().verify(evidences.transaction(fact), at: testNow)
    #expect(found.quarantine?.code == (isOne ? nil : .inconsistent))
  }

  @Test func case04_leafExpiredNowButValidAtSigningIsAccepted() async throws {
    var shape = EphemeralCA.Shape()
    shape.leafValidity = Evidences.date - 1_000_000..<Evidences.date + 1_000_000
    let evidences = try Evidences(shape)
    let verifier = try evidences.verifier()
    let accepted = try await verifier.verify(evidences.transaction(), at: testNow)
    #expect(accepted.quarantine == nil && accepted.transactions == [Evidences.fact()])
    // The chain is now cached. A date outside its validity is still rejected.
    for date in [Evidences.date - 1_001_000, Evidences.date + 1_001_000] {
      let late = try evidences.transaction(Evidences.fact(signedDate: date))
      #expect(
        await refusal { try await verifier.verify(late, at: testNow) }?.code == .certificateNotValidAtSigning)
    }
  }

  @Test func case05_signedInTheFutureIsQuarantined() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    for (ahead, code) in [(299_999, nil), (300_000, nil), (300_001, .signedInFuture), (3_000_000_000, .signedInFuture)]
      as [(Int64, VerificationError.Code?)]
    {
      let jws = try evidences.transaction(Evidences.fact(signedDate: testNow + ahead))
      #expect(try await verifier.verify(jws, at: testNow).quarantine?.code == code)
      // The same inside a notification whose own date is valid.
      let message = try evidences.notification("REFUND", of: jws)
      #expect(try await verifier.verify(message, at: testNow).quarantine?.code == code)
    }
  }

  @Test func case07_equivalentSignaturesDecodeToOneFact() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    let first = try evidences.transaction()
    let parts = first.split(separator: UInt8(ascii: "."))
    let signature = try #require(Base64.decode(parts[2]))
    let malleated = signature[..<32] + P256Order.minus(signature[32...])
    let padding = Array(repeating: UInt8(ascii: "="), count: (4 - parts[2].count % 4) % 4)
    let forms: [[UInt8]] = [
      first, try evidences.transaction(),
      Array(parts[0] + [0x2E] + parts[1] + [0x2E] + Base64.encodeURL(Array(malleated))),
      Array(parts[0] + [0x2E] + parts[1] + [0x2E] + parts[2] + padding), first + [0x0A],
    ]
    #expect(Set(forms).count == forms.count)
    for form in forms {
      #expect(try await verifier.verify(form, at: testNow).transactions == [Evidences.fact()])
    }
    var broken = signature
    broken[40] ^= 1
    let forged = Array(parts[0] + [0x2E] + parts[1] + [0x2E] + Base64.encodeURL(broken))
    #expect(await refusal { try await verifier.verify(forged, at: testNow) }?.code == .badSignature)
  }

  @Test func case14_sandboxIsRejectedIfProductionIsRequired() async throws {
    let evidences = try Evidences()
    let fact = Evidences.fact(environment: .sandbox)
    let jws = try evidences.transaction(fact)
    let evidence = try await evidences.verifier().verify(jws, at: testNow)
    #expect(evidence.transactions == [fact] && evidence.notes == ["sandbox"] && evidence.quarantine == nil)
    let strict = try evidences.verifier(environment: .production)
    #expect(await refusal { try await strict.verify(jws, at: testNow) }?.code == .wrongEnvironment)
  }

  @Test func case15_xcodeEvidenceIsRejected() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    // Even under a pinned root.
    for environment in [StoreEnvironment.xcode, .localTesting] {
      let jws = try evidences.transaction(Evidences.fact(environment: environment))
      #expect(await refusal { try await verifier.verify(jws, at: testNow) }?.code == .testEnvironment)
    }
    let alone = try evidences.authority.sign(
      Evidences.payload(replacing: "environment", with: "\"Xcode\""),
      header: EphemeralCA.header(certificates: [evidences.authority.leafCertificate]))
    #expect(await refusal { try await verifier.verify(alone, at: testNow) }?.code == .certificateCount)
  }

  @Test func case17_anotherAppsEvidenceIsRejectedAtEveryLayer() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    let foreign = try evidences.transaction(bundle: "com.other")
    let own = try evidences.transaction()
    let pieces: [([UInt8], VerificationError.Code)] = [
      (foreign, .wrongBundle), (try evidences.notification("REFUND", of: foreign), .wrongBundle),
      (try evidences.notification("REFUND", of: own, bundle: "com.other"), .wrongBundle),
      (try evidences.notification("REFUND", of: own, app: 1), .wrongApp),
      (try evidences.notification("REFUND", of: own, app: nil), .wrongApp),
    ]
    for (piece, code) in pieces {
      #expect(await refusal { try await verifier.verify(piece, at: testNow) }?.code == code)
    }
    // Layers of different apps are rejected even if no bundle id is configured.
    let open = try evidences.verifier(bundle: nil, app: nil)
    let mixed = try evidences.notification("REFUND", of: foreign)
    #expect(await refusal { try await open.verify(mixed, at: testNow) }?.code == .wrongBundle)
    let environments = try evidences.notification("REFUND", of: own, environment: .sandbox)
    #expect(try await verifier.verify(environments, at: testNow).quarantine?.code == .environmentMismatch)
  }

  @Test func case18_theFieldsDetermineTheKind() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    let transaction = try evidences.transaction()
    let notification = try evidences.notification("REFUND", of: transaction)
    let renewal = try evidences.authority.sign(
      #"{"originalTransactionId":"1","environment":"Production","signedDate":\#(Evidences.date)}"#.utf8)
    let pieces: [(EvidenceKind, [UInt8])] = [
      (.transaction, transaction), (.notification, notification), (.renewal, renewal),
    ]
    for (kind, piece) in pieces {
      #expect(EvidenceVerifier.detect(piece) == kind)
      #expect(try await verifier.verify(piece, at: testNow).kind == kind)
      for (forced, _) in pieces {
        let code = await refusal { try await verifier.verify(piece, as: forced, at: testNow) }?.code
        #expect(code == (forced == kind ? nil : .wrongKind))
      }
    }
    // A notification as the transaction, and a transaction as the renewal info.
    for piece in [
      try evidences.notification("REFUND", of: notification),
      try evidences.notification("DID_RENEW", of: transaction, renewal: transaction),
    ] {
      #expect(await refusal { try await verifier.verify(piece, at: testNow) }?.code == .wrongKind)
    }
  }

  @Test func case26_unknownTypesKeepTheirText() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    let message = try evidences.authority.notification(
      type: "SOMETHING_NEW", subtype: "OF_A_KIND", uuid: "u-1", signedDate: Evidences.date, environment: .production,
      bundleID: Evidences.bundle, appAppleID: Evidences.app, transaction: try evidences.transaction())
    let evidence = try await verifier.verify(message, at: testNow)
    #expect(evidence.notification?.type == "SOMETHING_NEW" && evidence.notification?.subtype == "OF_A_KIND")
    #expect(evidence.notes == ["unknown-type"] && evidence.quarantine == nil)
    #expect(evidence.transactions == [Evidences.fact()])
    // A payload without any known member.
    let bare = try evidences.authority.sign(
      #"{"notificationType":"X","notificationUUID":"u-2","signedDate":\#(Evidences.date),"news":{"a":1}}"#.utf8)
    #expect(try await verifier.verify(bare, at: testNow).notification?.type == "X")
    // Unknown keywords in a transaction.
    let odd = try evidences.authority.sign(Evidences.payload(replacing: "type", with: "\"Barter\""))
    #expect(try await verifier.verify(odd, at: testNow).transactions.first?.productType.rawValue == "Barter")
    let nowhere = try evidences.transaction(Evidences.fact(environment: .init(rawValue: "Moon")))
    #expect(try await verifier.verify(nowhere, at: testNow).quarantine?.code == .unknownEnvironment)
  }

  @Test func case29_numericIDsEqualTheirText() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    for value in ["12345", "\"12345\""] {
      for field in ["transactionId", "originalTransactionId"] {
        let jws = try evidences.authority.sign(Evidences.payload(replacing: field, with: value))
        #expect(try await verifier.verify(jws, at: testNow).transactions == [Evidences.fact()])
      }
    }
  }
}
