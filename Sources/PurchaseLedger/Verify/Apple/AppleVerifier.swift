/// Verifies and decodes what the App Store signs and answers.
package struct AppleVerifier: StoreEvidenceVerifier {
  let identity: AppleIdentity
  let skew: Int64
  let jws: JWSVerifier
  let receipts: ReceiptVerifier

  /// - Throws: `LedgerError` that names a root certificate which is none.
  package init(identity: StoreIdentity) throws(LedgerError) {
    self.identity = AppleIdentity(identity)
    skew = identity.futureSkewMilliseconds
    let chains = try ChainVerifier(rootCertificates: identity.rootCertificates)
    let cache = SigningChainCache()
    jws = JWSVerifier(chains: chains, cache: cache)
    receipts = ReceiptVerifier(chains: chains, cache: cache)
  }

  package func verify(
    _ bytes: [UInt8], as kind: EvidenceKind, context: EvidenceContext, at now: Int64, trusted: Bool
  ) async throws(Refusal) -> VerifiedEvidence {
    switch kind {
    case .transaction, .notification, .renewal:
      try await verifySigned(try AppleFormat.compactJWS(in: bytes), as: kind, at: now, trusted: trusted)
    case .receipt: try await verifyReceipt(bytes, at: now, trusted: trusted)
    case .verifyReceipt: try decode(answer: try AppleFormat.document(in: bytes), context: context, at: now)
    case .notificationV1: try decode(versionOne: try AppleFormat.document(in: bytes))
    default: throw Refusal(.wrongKind, "\(kind.name) is not evidence of Apple's")
    }
  }

  /// Verifies a compact JWS, whose fields decide what it is.
  /// - Parameter expected: What it has to be; nil takes any kind.
  func verifySigned(
    _ bytes: [UInt8], as expected: EvidenceKind?, at now: Int64, trusted: Bool
  ) async throws(Refusal) -> VerifiedEvidence {
    let opened = try await jws.open(bytes, trusted: trusted)
    let kind = AppleFormat.kind(of: opened.payload)
    if let expected, kind != expected {
      throw Refusal(
        .wrongKind, "a \(expected.name) is expected; this is \(kind.map { "a \($0.name)" } ?? "none, by its fields")")
    }
    var evidence =
      switch kind {
      case .transaction: try transaction(in: opened)
      case .renewal: try renewal(in: opened)
      case .notification: try await notification(in: opened, trusted: trusted)
      default: throw Refusal(.wrongKind, "neither a transaction nor a notification nor renewal info, by its fields")
      }
    evidence.quarantine = evidence.quarantine ?? opened.inconsistency
    // Any layer of the future makes the whole wait.
    let latest = evidence.transactions.reduce(opened.signedDate) { max($0, $1.signedDate) }
    quarantineFuture(&evidence, latest, at: now)
    return evidence
  }

  func quarantineFuture(_ evidence: inout VerifiedEvidence, _ signedDate: Int64, at now: Int64) {
    guard signedDate > now, signedDate - now > skew, evidence.quarantine == nil else { return }
    evidence.quarantine = Refusal(
      .signedInFuture, "signed at \(signedDate), \((signedDate - now) / 1000) s later than our clock; check the clock")
  }

}

/// Whose evidence Apple's has to be: the checks of every layer.
struct AppleIdentity: Sendable {
  let bundleID: String?
  let appAppleID: Int64?
  let requiredEnvironment: StoreEnvironment?

  init(_ identity: StoreIdentity) {
    bundleID = identity.bundleID
    appAppleID = identity.appAppleID
    requiredEnvironment = identity.requiredEnvironment
  }

  func check(bundleID found: String?, in layer: String) throws(Refusal) {
    guard let bundleID, found != bundleID else { return }
    throw Refusal(.wrongBundle, "the \(layer) is of \(found ?? "no app"), not of \(bundleID)")
  }

  /// Apple gives its id of the app in production only.
  func check(appAppleID found: Int64?, environment: StoreEnvironment, in layer: String) throws(Refusal) {
    guard let appAppleID, environment == .production, found != appAppleID else { return }
    throw Refusal(
      .wrongApp, "the \(layer) is of the app \(found.map(String.init) ?? "without an Apple id"), not of \(appAppleID)")
  }

  /// - Returns: A reason to put it in quarantine, nil when the environment is a known one of the store.
  func check(_ environment: StoreEnvironment, in layer: String) throws(Refusal) -> Refusal? {
    if environment.isLocalTest {
      throw Refusal(.testEnvironment, "the \(layer) is of \(environment), which is a developer's machine, not a store")
    }
    if let requiredEnvironment, environment != requiredEnvironment {
      throw Refusal(.wrongEnvironment, "the \(layer) is of \(environment), not of \(requiredEnvironment)")
    }
    guard environment.code == nil else { return nil }
    return Refusal(.unknownEnvironment, "the \(layer) names the environment \(environment), which is not known here")
  }
}
