import Crypto
import CryptoExtras
package import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Verifies and decodes evidence of Google Play (docs/reference/ledger.md, Identity).
///
/// Signed purchases are checked against the app's licensing key. API resources and voided lists are unsigned, so their
/// facts have trust `unsigned`. Real-time developer notifications yield only look-ups.
///
/// The kinds are extensions of this type, in `GooglePurchase` and `GoogleVoidedPurchase`.
package struct GoogleVerifier: StoreEvidenceVerifier {
  let identity: StoreIdentity
  private let keys: [(times: LicensingKey, key: _RSA.Signing.PublicKey)]

  /// - Throws: `VerificationError` with code `configuration` if the licensing key is not an RSA key.
  package init(identity: StoreIdentity) throws(VerificationError) {
    self.identity = identity
    do {
      // Licensing keys of apps created before 2012 may have 1024 bits, which the checked initialiser rejects.
      let all = (identity.googlePublicKey.map { [LicensingKey(der: $0)] } ?? []) + identity.otherLicensingKeys
      keys = try all.map { ($0, try _RSA.Signing.PublicKey(unsafeDERRepresentation: Data($0.der))) }
    } catch {
      throw VerificationError(
        .configuration,
        "a key of googlePublicKey or googlePublicKeys is no RSA public key",
        remedy: "take the licensing key from the Play console, Monetisation setup")
    }
  }

  package func verify(
    _ bytes: [UInt8], as kind: EvidenceKind, context: EvidenceContext, at now: Int64, trusted: Bool
  ) async throws(VerificationError) -> VerifiedEvidence {
    guard bytes.count <= identity.evidenceBytesMax else {
      throw VerificationError(.tooLarge, "\(bytes.count) bytes; at most \(identity.evidenceBytesMax) are read")
    }
    return try verify(try GoogleAnswer.parse(bytes), as: kind, context: context, at: now, trusted: trusted)
  }

  /// Verifies a document that is already parsed.
  package func verify(
    _ document: JSONValue, as kind: EvidenceKind, context: EvidenceContext, at now: Int64, trusted: Bool
  ) throws(VerificationError) -> VerifiedEvidence {
    let answer = try GoogleAnswer(document)
    guard answer.kind == nil || answer.kind == kind || (kind == .googleVoided && answer.isEmpty) else {
      throw VerificationError(.wrongKind, "this is a \(answer.kind!.name), not a \(kind.name)")
    }
    if let quarantined = try answer.storeFailure(kind) { return quarantined }
    var evidence: VerifiedEvidence
    switch kind {
    case .googlePurchase: evidence = try signedPurchase(answer, context, trusted: trusted)
    case .googleProduct: evidence = try product(answer, context)
    case .googleVoided: evidence = try voided(answer, context)
    case .googleNotification: evidence = try notification(answer, context)
    case .googleToken: evidence = try token(answer, context)
    case .googleOrder: evidence = try order(answer, context)
    default: throw VerificationError(.wrongKind, "a \(kind.name) does not come from Google")
    }
    try checkEnvironment(evidence)
    evidence.app = answer.body["packageName"]?.string ?? context.packageName
    if let date = evidence.signedDate, date > now, date - now > identity.futureSkewMilliseconds {
      evidence.quarantine = VerificationError(
        .signedInFuture, "dated \(date), later than our clock \(now) allows",
        remedy: "check the clock, then present it again")
    }
    return evidence
  }

  /// Checks the licensing key's signature (SHA1withRSA) over the exact bytes of the JSON text.
  ///
  /// - Parameter date: When it was bought: a key that is limited in time signs no others.
  func checkSignature(_ signature: String, of text: String, at date: Int64) throws(VerificationError) {
    guard !keys.isEmpty else {
      throw VerificationError(
        .noLicensingKey, "cannot be checked without the app's licensing key", remedy: "configure it")
    }
    guard let signature = Base64.decode(signature.utf8, skippingSpace: true) else {
      throw VerificationError(.malformed, "the signature is not base64")
    }
    let proof = _RSA.Signing.RSASignature(rawRepresentation: signature)
    let hash = Insecure.SHA1.hash(data: Data(text.utf8))
    let signer = keys.filter { $0.key.isValidSignature(proof, for: hash, padding: .insecurePKCS1v1_5) }
    guard let first = signer.first else {
      throw VerificationError(.badSignature, "the signature does not match the purchase and the app's licensing key")
    }
    guard signer.contains(where: { $0.times.signs(at: date) }) else {
      let word = date < first.times.from ?? .min ? "not yet" : "no longer"
      throw VerificationError(
        .badSignature, "is signed with a licensing key that is \(word) valid at the time of the purchase",
        remedy: "correct the days of that key, if it was still used")
    }
  }

  /// Rejects another app's package name, and a missing one if the format always has it.
  func checkPackage(_ name: String?, isRequired: Bool) throws(VerificationError) {
    guard !identity.packageNames.isEmpty else {
      guard identity.requiresApp else { return }
      throw VerificationError(
        .noPackageName, "cannot be checked without the app's package name", remedy: "configure it")
    }
    guard let name else {
      if isRequired { throw VerificationError(.incomplete, "packageName is missing") }
      return
    }
    guard identity.packageNames.contains(name) else {
      throw VerificationError(
        .wrongPackage, "is of \(name), not of \(identity.packageNames.joined(separator: " or "))")
    }
  }

  /// The environment of evidence that names none.
  func environment(_ context: EvidenceContext) -> StoreEnvironment {
    context.environment ?? identity.requiredEnvironment ?? .production
  }

  private func checkEnvironment(_ evidence: VerifiedEvidence) throws(VerificationError) {
    guard let required = identity.requiredEnvironment, let found = evidence.environment, found != required else {
      return
    }
    throw VerificationError(.wrongEnvironment, "is of \(found), not of \(required)")
  }
}
