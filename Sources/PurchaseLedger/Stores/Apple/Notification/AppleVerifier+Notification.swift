extension AppleVerifier {
  /// App Store Server Notification, version 2: the outer payload is verified; so are transaction and renewal info in it.
  func notification(in opened: JWSVerifier.Opened, trusted: Bool) async throws(Refusal) -> VerifiedEvidence {
    let message = try NotificationPayload(opened)
    try identity.check(bundleID: message.bundleID, in: "notification", isKnown: message.hasCarrier)
    if message.hasCarrier, let environment = message.environment {
      try identity.check(appAppleID: message.appAppleID, environment: environment, in: "notification")
    }
    var evidence = VerifiedEvidence(
      kind: .notification, store: .apple, environment: message.environment, signedDate: opened.signedDate,
      details: AppleDetails.ofNotification(message.carrier))
    if let environment = message.environment {
      evidence.quarantine = try identity.check(environment, in: "notification")
      if environment == .sandbox { evidence.addNote("sandbox") }
    }
    if !NotificationPayload.knownTypes.contains(message.type) { evidence.addNote("unknown-type") }
    if let text = message.signedTransaction {
      try await addTransaction(Array(text.utf8), to: &evidence, of: message, trusted: trusted)
    }
    if let text = message.signedRenewal {
      try await addRenewal(Array(text.utf8), to: &evidence, of: message, trusted: trusted)
    }
    evidence.notification = NotificationFact(
      store: .apple, environment: message.environment, uuid: message.uuid, type: message.type, subtype: message.subtype,
      signedDate: opened.signedDate, transaction: evidence.transactions.first?.key)
    return evidence
  }

  private func addTransaction(
    _ bytes: [UInt8], to evidence: inout VerifiedEvidence, of message: NotificationPayload, trusted: Bool
  ) async throws(Refusal) {
    let opened = try await jws.open(bytes, trusted: trusted)
    guard AppleFormat.kind(of: opened.payload) == .transaction else {
      throw Refusal(.wrongKind, "what the notification carries as its transaction is none, by its fields")
    }
    let signed = try SignedTransaction(opened.payload, signedDate: opened.signedDate)
    try identity.check(bundleID: signed.bundleID, in: "notification's transaction")
    // The message names its app itself, also where no bundle id is configured.
    if let outer = message.bundleID, signed.bundleID != outer {
      throw Refusal(.wrongBundle, "the notification is of \(outer), its transaction of \(signed.bundleID ?? "no app")")
    }
    var fact = signed.fact
    let unknown = try identity.check(fact.environment, in: "notification's transaction")
    message.settle(&fact)
    evidence.quarantine =
      evidence.quarantine ?? unknown ?? mismatch(fact.environment, message, "transaction") ?? signed.inconsistency
      ?? opened.inconsistency
    if fact.environment.code != nil { evidence.transactions = [fact] }
    evidence.addNotes(about: fact)
    evidence.details += AppleDetails.ofTransaction(opened.payload)
  }

  private func addRenewal(
    _ bytes: [UInt8], to evidence: inout VerifiedEvidence, of message: NotificationPayload, trusted: Bool
  ) async throws(Refusal) {
    let opened = try await jws.open(bytes, trusted: trusted)
    guard AppleFormat.kind(of: opened.payload) == .renewal else {
      throw Refusal(.wrongKind, "what the notification carries as its renewal info is none, by its fields")
    }
    let fact = try renewalFact(in: opened)
    let unknown = try identity.check(fact.environment, in: "notification's renewal info")
    evidence.quarantine =
      evidence.quarantine ?? unknown ?? mismatch(fact.environment, message, "renewal info") ?? opened.inconsistency
    evidence.renewal = fact
  }

  private func mismatch(_ inner: StoreEnvironment, _ message: NotificationPayload, _ layer: String) -> Refusal? {
    guard let outer = message.environment, outer != inner else { return nil }
    return Refusal(.environmentMismatch, "the notification is of \(outer), its \(layer) of \(inner)")
  }
}

extension AppleIdentity {
  /// A message of a form that this version does not know may name its app where nobody looks.
  fileprivate func check(bundleID found: String?, in layer: String, isKnown: Bool) throws(Refusal) {
    if isKnown { try check(bundleID: found, in: layer) }
  }
}
