import Foundation

extension EvidenceImporter {
  /// Verifies a batch on all cores.
  func prepare(_ batch: [EvidencePiece], _ policy: LedgerPolicy) async throws -> [PreparedPiece] {
    let workers = max(1, min(ProcessInfo.processInfo.activeProcessorCount, batch.count / 16))
    let share = (batch.count + workers - 1) / workers
    return try await withThrowingTaskGroup(of: (Int, [PreparedPiece]).self) { group in
      for start in stride(from: 0, to: batch.count, by: share) {
        let part = batch[start..<min(start + share, batch.count)]
        group.addTask { (start, try await prepare(part, policy)) }
      }
      var parts: [Int: [PreparedPiece]] = [:]
      for try await (start, part) in group { parts[start] = part }
      return parts.keys.sorted().flatMap { parts[$0]! }
    }
  }

  private func prepare(_ part: ArraySlice<EvidencePiece>, _ policy: LedgerPolicy) async throws -> [PreparedPiece] {
    let submissions = try part.map { try submission($0, policy) }
    var hasher = EvidenceHasher()
    let digests = submissions.map { hasher.digest($0.0.evidence) }
    let known = try ledger.verifiedKinds(digests.map(\.sha256))
    var prepared: [PreparedPiece] = []
    prepared.reserveCapacity(part.count)
    for (index, piece) in part.enumerated() {
      let (submission, refusal) = submissions[index]
      if refusal == nil, let option = missingOption(submission) {
        throw Self.missing(option, piece, (submission.kind ?? EvidenceVerifier.detect(submission.evidence))?.name)
      }
      let verifiedAs = known[index].flatMap { submission.trusts($0) ? $0 : nil }
      let result =
        if let refusal { Result<VerifiedEvidence, Refusal>.failure(refusal) } else {
          await verify(submission, verifiedAs)
        }
      if case .success(let content) = result, let option = missingOption(content) {
        throw Self.missing(option, piece, content.kind.name)
      }
      prepared.append(
        PreparedPiece(submission, result, digest: digests[index], isKnown: verifiedAs != nil))
    }
    return prepared
  }

  private func verify(_ submission: Submission, _ verifiedAs: EvidenceKind?) async -> Result<VerifiedEvidence, Refusal>
  {
    do throws(Refusal) {
      return .success(
        try await verifier.verify(
          submission.evidence, as: verifiedAs ?? submission.kind, context: submission.context, at: clock.now(),
          trusted: verifiedAs != nil))
    } catch {
      return .failure(error)
    }
  }

  /// What a line asks for; with a refusal when it asks for what there is not.
  private func submission(_ piece: EvidencePiece, _ policy: LedgerPolicy) throws -> (Submission, Refusal?) {
    var submission = Submission(
      evidence: piece.bytes, kind: defaults.kind, context: EvidenceContext(environment: policy.environment),
      account: defaults.account, channel: .operatorImport)
    guard !piece.isTooLarge else { return (submission, Refusal(.tooLarge, "the line is longer than the cap allows")) }
    guard let wrapper = EvidenceWrapper(piece.bytes) else { return (submission, nil) }
    submission.evidence = wrapper.evidence
    submission.isExplicit = wrapper.isExplicit
    submission.context = wrapper.context
    submission.context.environment = wrapper.context.environment ?? policy.environment
    if let format = wrapper.format {
      guard let kind = EvidenceKind(name: format) else {
        return (submission, Refusal(.malformed, "format \"\(format.prefix(40))\" is not known"))
      }
      submission.kind = kind
    }
    if let name = wrapper.account {
      guard let account = try ledger.accounts.find(name) else {
        return (submission, Refusal(.noSuchAccount, "there is no account of this name or id"))
      }
      submission.account = account
    }
    return (submission, nil)
  }

  /// The option without which a piece of evidence cannot be verified, or would be believed of any app.
  ///
  /// - Complexity: O(1) when no option is missing, else O(bytes).
  private func missingOption(_ submission: Submission) -> String? {
    guard !hasAllOptions, let kind = submission.kind ?? EvidenceVerifier.detect(submission.evidence) else { return nil }
    switch kind {
    case .transaction, .notification, .renewal, .receipt:
      if identity.rootCertificates.isEmpty { return "--root-certificate" }
      return identity.bundleID == nil ? "--bundle-id" : nil
    case .verifyReceipt, .notificationV1: return identity.bundleID == nil ? "--bundle-id" : nil
    case .googlePurchase where identity.googlePublicKey == nil: return "--google-public-key"
    case .googlePurchase, .googleProduct, .googleVoided, .googleNotification:
      return identity.packageName == nil ? "--package-name" : nil
    }
  }

  private var hasAllOptions: Bool {
    !identity.rootCertificates.isEmpty && identity.bundleID != nil && identity.googlePublicKey != nil
      && identity.packageName != nil
  }

  /// Only what was decoded says whether it is a notification of production, which has the app's number.
  private func missingOption(_ content: VerifiedEvidence) -> String? {
    content.kind == .notification && content.environment == .production && identity.appAppleID == nil
      ? "--app-apple-id" : nil
  }

  private static func missing(_ option: String, _ piece: EvidencePiece, _ kind: String?) -> LedgerError {
    LedgerError(
      .configuration, at: "\(piece.source):\(piece.line)",
      "is a \(kind ?? "piece"), which cannot be checked without \(option); give it, or put it into the configuration file"
    )
  }
}
