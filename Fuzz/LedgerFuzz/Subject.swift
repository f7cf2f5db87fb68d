import Foundation
import PurchaseLedger
import StoreSimulators

/// What the bytes of libFuzzer are taken for.
struct Subject: Sendable {
  enum Kind: String { case jws, receipt, notification }

  private static let now: Int64 = 1_795_219_200_000

  private let kind: Kind
  private let authority: EphemeralCA
  private let verifier: EvidenceVerifier

  init?(named name: String) throws {
    guard let kind = Kind(rawValue: name) else { return nil }
    self.kind = kind
    authority = try EphemeralCA()
    verifier = try EvidenceVerifier(identity: StoreIdentity(rootCertificates: [authority.rootCertificate]))
  }

  /// Refusals are what is expected; a trap, a hang or memory without bounds is what libFuzzer looks for.
  func take(_ bytes: [UInt8]) async {
    switch kind {
    case .jws:
      await verify(bytes)
      // Behind signature and chain, too.
      await verify(bytes, trusted: true)
      await verifySigned(bytes)
    case .receipt:
      await verify(bytes, as: .receipt)
      await verify(bytes, as: .receipt, trusted: true)
    case .notification:
      await verifySigned(bytes)
      await verify(bytes)
      await verify(bytes, as: .googleNotification)
    }
    _ = EvidenceVerifier.detect(bytes)
  }

  private func verify(_ bytes: [UInt8], as kind: EvidenceKind? = nil, trusted: Bool = false) async {
    _ = try? await verifier.read(bytes, as: kind, at: Self.now, trusted: trusted)
  }

  /// The bytes as a payload that is signed as it should be: changes of base64 text seldom get behind a signature.
  private func verifySigned(_ payload: [UInt8]) async {
    guard let jws = try? authority.sign(payload) else { return }
    await verify(jws)
  }

  /// What to begin with; each is taken by the verifier, or nearly.
  func seeds() throws -> [[UInt8]] {
    let transaction = Seeds.transaction
    let signed = try authority.sign(transaction)
    switch kind {
    case .jws: return [signed, transaction, Seeds.renewal]
    case .receipt: return Seeds.receipts + Seeds.realReceipts()
    case .notification: return Seeds.notifications(of: String(decoding: signed, as: UTF8.self))
    }
  }
}
