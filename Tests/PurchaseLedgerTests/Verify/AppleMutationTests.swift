import Foundation
import PurchaseLedger
import StoreSimulators
import Support
import TestSupport
import Testing

/// Fuzzing: damaged evidence is accepted or rejected and never traps.
@Suite(.ownThread) struct AppleMutationTests {
  /// `LONG_TESTS=full` increases the number of mutations.
  private static let rounds = !TestEffort.isFull ? 500 : 200_000
  private static let seed: UInt64 = 20_261_121

  @Test func damagedSignedJSONNeverTraps() async throws {
    let evidences = try Evidences()
    let transaction = try evidences.transaction()
    let seeds = [
      transaction, try evidences.notification("REFUND", of: transaction),
      try evidences.authority.sign(#"{"environment":"Production","signedDate":\#(Evidences.date)}"#.utf8),
    ]
    try await damage(seeds, with: evidences.verifier(), acceptedMax: 0.2)
  }

  /// The payload is damaged before signing, so that the code behind the signature check is reached.
  @Test func damagedSignedPayloadsNeverTrap() async throws {
    let evidences = try Evidences()
    let verifier = try evidences.verifier()
    var generator = SeededGenerator(seed: Self.seed)
    let revocation = Revocation(date: Evidences.date, reason: "1", percentageMilli: 50_000, type: "REFUND_PRORATED")
    let payload = Array(
      EphemeralCA.payload(of: Evidences.fact(revocation: revocation), bundleID: Evidences.bundle).utf8)
    var refused = 0
    for _ in 0..<Self.rounds {
      let jws = try evidences.authority.sign(damaged(payload, using: &generator))
      let message = try evidences.notification("REFUND", of: jws)
      if await refusal({ try await verifier.read(jws, at: testNow) }) != nil { refused += 1 }
      _ = await refusal { try await verifier.read(message, at: testNow) }
    }
    #expect(refused > Self.rounds / 10 && refused < Self.rounds, "seed \(Self.seed)")
  }

  @Test func damagedReceiptsNeverTrap() async throws {
    let receipt = try ReceiptAuthority.shared.sign(
      MadeReceipt(purchases: [.init(id: "1"), .init(id: "2", cancellationDate: "2023-12-01T00:00:00Z")]).payload)
    let verifier = try EvidenceVerifier(identity: StoreIdentity(rootCertificates: [ReceiptAuthority.shared.root]))
    try await damage([receipt, Base64.encode(receipt)], with: verifier, acceptedMax: 0.2)
  }

  /// Parses attributes and envelope directly, without signature checks, also in BER as Xcode writes it.
  @Test func damagedASN1NeverTraps() async throws {
    var receipts = [try ReceiptAuthority.shared.sign(MadeReceipt(purchases: [.init(id: "1")]).payload)]
    receipts += try ReceiptIndex.items.filter { $0.family == "pkcs7-receipt" }
      .map { try #require(Base64.decode($0.bytes, skippingSpace: true)) }
    try await damage(receipts, with: EvidenceVerifier(identity: StoreIdentity()), trusted: true, acceptedMax: 1)
  }

  @Test func damagedRealEvidenceNeverTraps() async throws {
    for item in ReceiptIndex.items where item.isValid {
      try await damage(
        [item.bytes], with: EvidenceVerifier(identity: item.identity), rounds: Self.rounds / 10, acceptedMax: 0.4)
    }
  }

  @Test func damagedAnswersNeverTrap() async throws {
    let answers = ReceiptIndex.items.filter {
      $0.family.hasPrefix("verifyreceipt-json") || $0.family == "notification-v1-json"
    }
    var seeds = answers.map(\.bytes)
    seeds.append(
      Array(
        #"""
        {"status":0,"environment":"Sandbox","receipt":{"bundle_id":"a","request_date_ms":"1704067200000",\#
        "in_app":[{"transaction_id":"1","product_id":"p","purchase_date":"2020-07-14 19:36:40 Etc/GMT"}]}}
        """#
        .utf8))
    try await damage(seeds, with: EvidenceVerifier(identity: StoreIdentity()), acceptedMax: 1)
  }

  /// Nesting that would overflow the stack of a recursive parser without a limit.
  @Test func deepNestingIsRejected() async throws {
    let verifier = try EvidenceVerifier(identity: StoreIdentity())
    let depth = 500_000
    let indefinite = repeated([0x30, 0x80], depth)
    let octets: [UInt8] = [0x30, 0x80] + repeated([0x24, 0x80], depth)
    let json = Array("{\"a\":".utf8) + [UInt8](repeating: UInt8(ascii: "["), count: depth)
    let closed = indefinite + [UInt8](repeating: 0, count: 2 * depth)
    for bytes in [indefinite, octets, closed, json] {
      #expect(await refusal { try await verifier.read(bytes, at: testNow) }?.code == .malformed)
    }
  }

  private func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
    Array(repeatElement(bytes, count: count).joined())
  }

  private func damage(
    _ seeds: [[UInt8]], with verifier: EvidenceVerifier, rounds: Int = Self.rounds, trusted: Bool = false,
    acceptedMax: Double
  ) async throws {
    var generator = SeededGenerator(seed: Self.seed)
    var accepted = 0
    for round in 0..<rounds {
      let bytes = damaged(seeds[round % seeds.count], using: &generator)
      _ = EvidenceVerifier.detect(bytes)
      if await refusal({ try await verifier.read(bytes, at: testNow, trusted: trusted) }) == nil { accepted += 1 }
    }
    #expect(Double(accepted) <= acceptedMax * Double(rounds), "seed \(Self.seed)")
  }

  /// Changes a few bytes, or removes, repeats or moves a part.
  private func damaged(_ bytes: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
    var bytes = bytes
    for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
      let place = Int.random(in: 0..<bytes.count, using: &generator)
      let end = min(bytes.count, place + Int.random(in: 1...40, using: &generator))
      switch Int.random(in: 0..<8, using: &generator) {
      case 0: bytes.removeSubrange(place..<end)
      case 1:
        bytes.insert(contentsOf: Array(bytes[place..<end]), at: Int.random(in: 0...bytes.count, using: &generator))
      case 2: bytes.removeSubrange(place...)
      case 3: bytes[place] = [0, 0x30, 0x7F, 0x80, 0x84, 0xFF].randomElement(using: &generator)!
      case 4: bytes[place] = Array("{}[]\",:.0-9eE\\u=".utf8).randomElement(using: &generator)!
      case 5: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
      default: bytes[place] = UInt8.random(in: 0...255, using: &generator)
      }
    }
    return bytes
  }
}
