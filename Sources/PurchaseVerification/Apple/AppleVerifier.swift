/// Verifies and decodes evidence of the App Store: selects the verifier by kind and applies the checks common to all
/// kinds.
///
/// The kinds themselves are extensions of this type, in the files named after them: `SignedTransaction`,
/// `ServerNotification`, `VersionOneNotification`, `VerifyReceiptAnswer`. Receipts are opened by `ReceiptVerifier`.
package struct AppleVerifier: StoreEvidenceVerifier {
  let identity: AppleIdentity
  let skew: Int64
  let jws: JWSVerifier
  let receipts: ReceiptVerifier

  /// - Throws: `VerificationError` that names the root certificate that cannot be read.
  package init(identity: StoreIdentity) throws(VerificationError) {
    self.identity = AppleIdentity(identity)
    skew = identity.futureSkewMilliseconds
    let chains = try ChainVerifier(rootCertificates: identity.rootCertificates)
    let cache = SigningChainCache()
    jws = JWSVerifier(chains: chains, cache: cache)
    receipts = ReceiptVerifier(chains: chains, cache: cache)
  }

  package func verify(
    _ bytes: [UInt8], as kind: EvidenceKind, context: EvidenceContext, at now: Int64, trusted: Bool
  ) async throws(VerificationError) -> VerifiedEvidence {
    switch kind {
    case .transaction, .notification, .renewal, .appTransaction:
      try await verifySigned(try AppleFormat.compactJWS(in: bytes), as: kind, at: now, trusted: trusted)
    case .receipt: try await verifyReceipt(bytes, at: now, trusted: trusted)
    case .verifyReceipt: try decode(answer: try AppleFormat.document(in: bytes), context: context, at: now)
    case .notificationV1: try decode(versionOne: try AppleFormat.document(in: bytes))
    default: throw VerificationError(.wrongKind, "\(kind.name) is not evidence of Apple's")
    }
  }

  /// Verifies a compact JWS. The fields of its payload determine the kind.
  ///
  /// - Parameter expected: The required kind, or nil for any.
  func verifySigned(
    _ bytes: [UInt8], as expected: EvidenceKind?, at now: Int64, trusted: Bool
  ) async throws(VerificationError) -> VerifiedEvidence {
    let opened = try await jws.open(bytes, trusted: trusted)
    let kind = AppleFormat.kind(of: opened.payload)
    if let expected, kind != expected {
      throw VerificationError(
        .wrongKind, "a \(expected.name) is expected; this is \(kind.map { "a \($0.name)" } ?? "none, by its fields")")
    }
    var evidence =
      switch kind {
      case .transaction: try transaction(in: opened)
      case .renewal: try renewal(in: opened)
      case .notification: try await notification(in: opened, trusted: trusted)
      case .appTransaction: try appTransaction(in: opened)
      default:
        throw VerificationError(
          .wrongKind, "none of a transaction, notification, renewal info and app transaction, by its fields")
      }
    evidence.quarantine = evidence.quarantine ?? opened.inconsistency
    // One layer dated in the future quarantines the whole.
    let latest = evidence.transactions.reduce(opened.signedDate) { max($0, $1.signedDate) }
    quarantineFuture(&evidence, latest, at: now)
    return evidence
  }

  /// Verifies a PKCS#7 app receipt, in DER, BER or base64 of either.
  func verifyReceipt(_ bytes: [UInt8], at now: Int64, trusted: Bool) async throws(VerificationError) -> VerifiedEvidence
  {
    let receipt = try await receipts.open(try AppleFormat.receiptBytes(in: bytes), trusted: trusted)
    try identity.check(bundleID: receipt.bundleID, in: "receipt")
    let unknown = try identity.check(receipt.environment, in: "receipt")
    var evidence = VerifiedEvidence(
      kind: .receipt, store: .apple, environment: receipt.environment,
      transactions: unknown == nil ? receipt.facts : [], signedDate: receipt.creationDate,
      quarantine: unknown ?? receipt.inconsistency, details: receipt.details)
    evidence.app = receipt.bundleID
    if receipt.environment == .sandbox { evidence.addNote("sandbox") }
    if receipt.facts.isEmpty { evidence.addNote("no-transactions") }
    quarantineFuture(&evidence, receipt.creationDate, at: now)
    return evidence
  }

  /// Quarantines evidence signed later than the local clock and the allowed skew.
  func quarantineFuture(_ evidence: inout VerifiedEvidence, _ signedDate: Int64, at now: Int64) {
    guard signedDate > now, signedDate - now > skew, evidence.quarantine == nil else { return }
    evidence.quarantine = VerificationError(
      .signedInFuture, "signed at \(signedDate), \((signedDate - now) / 1000) s later than our clock",
      remedy: "check the clock")
  }
}

/// The app and the environment that Apple's evidence must be of. Every layer is checked.
struct AppleIdentity: Sendable {
  let bundleIDs: [String]
  let appAppleIDs: [Int64]
  let requiredEnvironment: StoreEnvironment?
  let requiresApp: Bool

  init(_ identity: StoreIdentity) {
    bundleIDs = identity.bundleIDs
    appAppleIDs = identity.appAppleIDs
    requiredEnvironment = identity.requiredEnvironment
    requiresApp = identity.requiresApp
  }

  func check(bundleID found: String?, in layer: String) throws(VerificationError) {
    if bundleIDs.isEmpty, requiresApp {
      throw VerificationError(.noBundleID, "cannot be checked without the app's bundle id", remedy: "configure it")
    }
    if bundleIDs.isEmpty || found.map(bundleIDs.contains) == true { return }
    throw VerificationError(
      .wrongBundle, "the \(layer) is of \(found ?? "no app"), not of \(bundleIDs.joined(separator: " or "))")
  }

  /// Apple states its id of the app in production only.
  func check(
    appAppleID found: Int64?, of bundleID: String?, environment: StoreEnvironment, in layer: String
  ) throws(VerificationError) {
    guard environment == .production, !appAppleIDs.isEmpty else { return }
    var allowed = appAppleIDs
    // Where each app has its number, a bundle id goes with its own.
    if appAppleIDs.count > 1, appAppleIDs.count == bundleIDs.count,
      let place = bundleID.flatMap(bundleIDs.firstIndex)
    {
      allowed = [appAppleIDs[place]]
    }
    if found.map(allowed.contains) == true { return }
    throw VerificationError(
      .wrongApp,
      "the \(layer) is of the app \(found.map(String.init) ?? "without an Apple id"), not of "
        + allowed.map(String.init).joined(separator: " or "))
  }

  /// - Returns: The reason to quarantine, or nil if the environment is a known one of the store.
  func check(_ environment: StoreEnvironment, in layer: String) throws(VerificationError) -> VerificationError? {
    if environment.isLocalTest {
      throw VerificationError(
        .testEnvironment, "the \(layer) is of \(environment), which is a developer's machine, not a store")
    }
    if let requiredEnvironment, environment != requiredEnvironment {
      throw VerificationError(.wrongEnvironment, "the \(layer) is of \(environment), not of \(requiredEnvironment)")
    }
    guard environment.code == nil else { return nil }
    return VerificationError(
      .unknownEnvironment, "the \(layer) names the environment \(environment), which is unknown")
  }
}
