import Support

extension EvidenceImporter {
  /// Verifies a batch on all cores.
  ///
  /// - Parameter keepsBooked: Whether recorded evidence is decoded with its facts too.
  func prepare(
    _ batch: [EvidenceItem], _ policy: LedgerPolicy, keepsBooked: Bool = false
  ) async throws -> [PreparedEvidence] {
    let workers = max(1, min(Processors.count, batch.count / 16))
    let share = (batch.count + workers - 1) / workers
    return try await withThrowingTaskGroup(of: (Int, [PreparedEvidence]).self) { group in
      for start in stride(from: 0, to: batch.count, by: share) {
        let part = batch[start..<min(start + share, batch.count)]
        group.addTask { (start, try await prepare(part, policy, keepsBooked)) }
      }
      var parts: [Int: [PreparedEvidence]] = [:]
      for try await (start, part) in group { parts[start] = part }
      return parts.keys.sorted().flatMap { parts[$0]! }
    }
  }

  private func prepare(
    _ part: ArraySlice<EvidenceItem>, _ policy: LedgerPolicy, _ keepsBooked: Bool
  ) async throws -> [PreparedEvidence] {
    let submissions = try part.map { try submission($0, policy) }
    var hasher = EvidenceHasher()
    let digests = submissions.map { hasher.digest($0.0.evidence) }
    let known = try ledger.knownEvidence(digests.map(\.sha256))
    var prepared: [PreparedEvidence] = []
    prepared.reserveCapacity(part.count)
    for (index, piece) in part.enumerated() {
      let (submission, refusal) = submissions[index]
      var known = known[index].flatMap { submission.trusts($0.kind) ? $0 : nil }
      if keepsBooked { known?.isBooked = false }
      let booked = known.flatMap { recognised($0, submission) }
      let result: Result<VerifiedEvidence, VerificationError> =
        if let refusal {
          .failure(refusal)
        } else if let booked {
          .success(booked)
        } else {
          await verify(submission, known?.kind)
        }
      if refusal == nil { try checkSettings(piece, submission, result) }
      prepared.append(
        PreparedEvidence(submission, result, digest: digests[index], known: known))
    }
    return prepared
  }

  /// The result for recorded evidence whose facts nobody needs; nil for evidence that has to be verified or decoded.
  private func recognised(_ known: KnownEvidence, _ submission: Submission) -> VerifiedEvidence? {
    // A missing setting ends the run for recorded evidence too. A notification's environment is not known here;
    // production has the strictest requirements.
    guard known.isBooked, !defaults.describesBooked, submission.account == nil,
      missingSetting(known.kind, in: .production) == nil
    else { return nil }
    return VerifiedEvidence(kind: known.kind, store: known.kind.store, environment: nil)
  }

  private func verify(_ submission: Submission, _ verifiedAs: EvidenceKind?) async -> Result<
    VerifiedEvidence, VerificationError
  > {
    do throws(VerificationError) {
      return .success(
        try await verifier.read(
          submission.evidence, as: verifiedAs ?? submission.kind, context: submission.context, at: clock.now(),
          trusted: verifiedAs != nil))
    } catch {
      return .failure(error)
    }
  }

  /// The submission of a line, with a refusal if the line is not valid.
  private func submission(_ piece: EvidenceItem, _ policy: LedgerPolicy) throws -> (Submission, VerificationError?) {
    var submission = Submission(
      evidence: piece.bytes, kind: defaults.kind, context: EvidenceContext(environment: policy.environment),
      account: defaults.account, channel: .operatorImport)
    guard !piece.isTooLarge else {
      return (submission, VerificationError(.tooLarge, "the line is longer than the cap allows"))
    }
    let wrapper: EvidenceWrapper
    do {
      guard let found = try EvidenceWrapper(piece.bytes) else { return (submission, nil) }
      wrapper = found
    } catch {
      return (submission, error)
    }
    submission.evidence = wrapper.evidence
    submission.isExplicit = wrapper.isExplicit
    submission.context = wrapper.context
    submission.context.environment = wrapper.context.environment ?? policy.environment
    if let kind = wrapper.kind { submission.kind = kind }
    if let channel = wrapper.channel { submission.channel = channel }
    if let time = wrapper.time, let base = defaults.mergeBase { submission.merged = (time, base) }
    if let name = wrapper.account {
      guard let account = try findAccount(name) else {
        // The account was erased after the line of a spool was written: the evidence stays, its claim does not.
        if wrapper.channel != nil, let id = AccountID(name), try ledger.isErased(id) {
          submission.account = nil
          return (submission, nil)
        }
        return (submission, VerificationError(.noSuchAccount, "there is no account of this name or id"))
      }
      submission.account = account
    }
    return (submission, nil)
  }

  /// Ends the run, instead of refusing evidence, if a missing setting makes it unverifiable or would accept it for any
  /// app.
  ///
  /// - Complexity: O(1); O(bytes) for refused evidence while a setting is missing.
  private func checkSettings(
    _ piece: EvidenceItem, _ submission: Submission, _ result: Result<VerifiedEvidence, VerificationError>
  ) throws {
    let content = try? result.get()
    guard content != nil || !hasAllSettings,
      let kind = content?.kind ?? submission.kind ?? EvidenceVerifier.detect(submission.evidence),
      let setting = missingSetting(kind, in: content?.environment)
    else { return }
    throw LedgerError(missing: setting, at: "\(piece.source):\(piece.line)", "is a \(kind.name)")
  }

  private var hasAllSettings: Bool {
    !identity.rootCertificates.isEmpty && !identity.bundleIDs.isEmpty && identity.hasLicensingKey
      && identity.packageName != nil
  }

  /// - Parameter environment: Nil if the evidence was not decoded.
  private func missingSetting(
    _ kind: EvidenceKind, in environment: StoreEnvironment?
  ) -> LedgerError.MissingSetting? {
    switch kind {
    case .transaction, .notification, .renewal, .receipt, .appTransaction:
      if identity.rootCertificates.isEmpty { return .rootCertificates }
      if identity.bundleID == nil { return .bundleID }
      return [.notification, .appTransaction].contains(kind) && environment == .production && identity.appAppleID == nil
        ? .appAppleID : nil
    case .verifyReceipt, .notificationV1: return identity.bundleID == nil ? .bundleID : nil
    case .googlePurchase where !identity.hasLicensingKey: return .googlePublicKey
    case .googlePurchase, .googleProduct, .googleVoided, .googleNotification, .googleToken, .googleOrder:
      return identity.packageName == nil ? .packageName : nil
    }
  }
}
