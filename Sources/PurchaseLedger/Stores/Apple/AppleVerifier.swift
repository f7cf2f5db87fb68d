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

  private func transaction(in opened: JWSVerifier.Opened) throws(Refusal) -> VerifiedEvidence {
    let signed = try SignedTransaction(opened.payload, signedDate: opened.signedDate)
    try identity.check(bundleID: signed.bundleID, in: "transaction")
    let fact = signed.fact
    let unknown = try identity.check(fact.environment, in: "transaction")
    var evidence = VerifiedEvidence(
      kind: .transaction, store: .apple, environment: fact.environment, transactions: unknown == nil ? [fact] : [],
      signedDate: opened.signedDate, quarantine: unknown ?? signed.inconsistency,
      details: AppleDetails.ofTransaction(opened.payload))
    evidence.addNotes(about: fact)
    return evidence
  }

  private func renewal(in opened: JWSVerifier.Opened) throws(Refusal) -> VerifiedEvidence {
    let fact = try renewalFact(in: opened)
    let unknown = try identity.check(fact.environment, in: "renewal info")
    return VerifiedEvidence(
      kind: .renewal, store: .apple, environment: fact.environment, renewal: fact, signedDate: opened.signedDate,
      quarantine: unknown, notes: fact.environment == .sandbox ? ["sandbox"] : [],
      details: AppleDetails.ofRenewal(opened.payload))
  }

  func renewalFact(in opened: JWSVerifier.Opened) throws(Refusal) -> RenewalFact {
    let fields = AppleFields(opened.payload)
    guard let environment = try fields.word("environment") else {
      throw Refusal(.incomplete, "the renewal info names no environment")
    }
    return RenewalFact(
      environment: StoreEnvironment(storeText: environment),
      originalTransactionID: try fields.optionalIdentifier("originalTransactionId"),
      productID: try fields.optionalIdentifier("productId"), signedDate: opened.signedDate)
  }
}

extension VerifiedEvidence {
  /// What a reader of the report has to know about a fact.
  mutating func addNotes(about fact: StoreTransaction) {
    if fact.environment == .sandbox { addNote("sandbox") }
    if fact.isPartiallyRefunded { addNote("partial-refund") }
  }

  mutating func addNote(_ note: String) {
    if !notes.contains(note) { notes.append(note) }
  }
}
