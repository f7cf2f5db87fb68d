import Support

extension EvidenceRecorder {
  /// The kinds of audit events that record how evidence left quarantine; their subject is its digest.
  static let released = "evidence.released"
  static let dismissed = "evidence.dismissed"

  static func leavesQuarantine(_ kind: String) -> Bool { [released, dismissed].contains(kind) }

  /// Records one piece of evidence (docs/reference/ledger.md, Outcomes):
  /// 1. evidence that did not verify, is for an unknown account or requests too many queries is refused and not stored;
  /// 2. evidence that cannot be trusted yet goes into quarantine;
  /// 3. facts and the notification become events, each once;
  /// 4. product and token given with the submission replace those given before;
  /// 5. the account's claims are recorded and checked against the owner;
  /// 6. evidence that added something is stored.
  func book(_ piece: PreparedEvidence) throws -> Booking {
    let content: VerifiedEvidence
    switch piece.result {
    case .failure(let refusal):
      return Booking(outcome: .refused, reason: refusal, kind: piece.refusedKind, store: piece.refusedKind?.store)
    case .success(let verified): content = verified
    }
    var booking = Booking(
      outcome: .duplicate, notes: content.notes, kind: content.kind, store: content.store,
      environment: content.environment, transactions: content.transactions)
    var claimant: AccountRow?
    if let account = piece.submission.account {
      claimant = try projections.accounts.account(id: account)
      guard let known = claimant, known.erasedSeq == nil else {
        return booking.refused(
          VerificationError(.noSuchAccount, "account \(account) is unknown or erased", remedy: "add it first"))
      }
    }
    if let refusal = unsignedRefusal(of: piece) { return booking.refused(refusal) }
    if let quarantine = content.quarantine ?? unknownEnvironment(in: content) {
      return try self.quarantine(piece, content, quarantine, booking)
    }
    if piece.isBooked {
      let known = Booking.Result(outcome: .duplicate, reason: nil)
      booking.conclude(
        Array(repeating: known, count: content.transactions.count), hasNews: false, ownEnvironment: policy.environment)
      return booking
    }

    let queued = try remember(
      content.lookups, from: piece.submission.source, for: content.kind == .googleToken ? claimant : nil)
    if queued < content.lookups.count {
      guard queued > 0 else {
        return booking.refused(
          VerificationError(
            .queueFull, "the queue of queries to the store is full", remedy: "run pull, then submit it again"))
      }
      booking.notes = booking.notes.map { $0 == "look-up" ? "look-up-partly" : $0 }
    }
    let firstEvent = events.chain.seq + 1
    let isNew = try book(piece.facts, evidence: piece.sha256)
    var hasNews = isNew.contains(true)
    if try book(content.notification, evidence: piece.sha256) { hasNews = true }
    if try bookTraits(of: content, evidence: piece.sha256) { hasNews = true }
    var results = isNew.map { Booking.Result(outcome: $0 ? .accepted : .duplicate, reason: nil) }
    if content.isNamedBeside {
      // Product and token given beside the same bytes are the operator's; the last ones win.
      for (index, fact) in piece.facts.enumerated()
      where try follow(fact, in: fact.row, [.productID, .purchaseToken], evidence: piece.sha256) {
        hasNews = true
        results[index].outcome = .accepted
      }
    }
    var isExplicit = piece.submission.isExplicit
    if let claimant {
      if try piece.facts.contains(where: { try wasClaimedLater($0, than: piece.submission, by: claimant) }) {
        isExplicit = false
      }
      if try claimApps(in: content, by: claimant, evidence: piece.sha256) { hasNews = true }
      let isTransfer = policy.secondClaim == .transfer && isExplicit
      for (index, fact) in piece.facts.enumerated()
      where try claim(
        fact, by: claimant, isTransfer: isTransfer, evidence: piece.sha256)
      {
        hasNews = true
        results[index].outcome = .accepted
      }
      for (index, fact) in piece.facts.enumerated() {
        guard let refusal = try refusal(of: fact.row.key, to: claimant) else { continue }
        results[index] = Booking.Result(outcome: .refused, reason: refusal)
      }
    }
    if hasNews {
      try evidence.keep(piece, kind: content.kind, outcome: .accepted, event: firstEvent)
      try spool.append(piece, kind: content.kind, isExplicit: isExplicit)
    } else {
      // Its facts were recorded from other evidence meanwhile.
      try release(piece.sha256, kind: Int64(content.kind.rawValue), as: .accepted, because: "duplicate")
    }
    booking.conclude(results, hasNews: hasNews, ownEnvironment: policy.environment)
    // A bare token is no event: the question waits, and the store's answer becomes one.
    if content.kind == .googleToken, booking.outcome == .duplicate { booking.outcome = .accepted }
    return booking
  }

  /// Takes evidence out of quarantine, if it is there, and records that as an audit event, because no other event does.
  func release(_ sha256: [UInt8], kind: Int64, as outcome: EvidenceStore.Outcome, because reason: String) throws {
    guard try evidence.release(sha256, kind: kind, as: outcome) else { return }
    try append(
      .audit(
        kind: Self.released, account: nil, subject: sha256.hexadecimal, outcome: reason, detail: nil,
        nonce: AccountID.random()))
  }

  /// Refuses unsigned answers unless the operator imports them.
  private func unsignedRefusal(of piece: PreparedEvidence) -> VerificationError? {
    let isAnswer: Bool
    switch piece.result {
    case .success(let content):
      // Hints are not answers: anybody may send them, because they only cause a query to the store.
      isAnswer =
        !content.kind.isSigned && ![.notificationV1, .googleNotification, .googleToken].contains(content.kind)
    case .failure: isAnswer = false
    }
    guard isAnswer || piece.facts.contains(where: { $0.transaction.trust == .unsigned }) else { return nil }
    if piece.submission.channel == .operatorImport && policy.unsignedEvidence == .import { return nil }
    return VerificationError(.unsigned, "is not signed by the store; only an operator's import accepts it")
  }

  private func unknownEnvironment(in content: VerifiedEvidence) -> VerificationError? {
    guard let fact = content.transactions.first(where: { $0.environment.code == nil }) else { return nil }
    return VerificationError(
      .unknownEnvironment, "names the environment \"\(fact.environment)\", which this version does not know")
  }

  private func quarantine(
    _ piece: PreparedEvidence, _ content: VerifiedEvidence, _ reason: VerificationError, _ booking: Booking
  ) throws -> Booking {
    if VerificationError.Code.ofForm.contains(reason.code), try isFullOfForms(but: piece.sha256) {
      return booking.refused(reason)
    }
    let isNew = try append(content.quarantineEvent(because: reason), evidence: piece.sha256) != nil
    try evidence.keep(piece, kind: content.kind, outcome: .quarantined, reason: reason.code.rawValue)
    if isNew { try spool.append(piece, kind: content.kind) }
    var booking = booking
    booking.outcome = .quarantined
    booking.reason = reason
    return booking
  }

  /// Whether so many pieces wait whose signature has an unknown form that no other is kept: anybody can write those.
  private func isFullOfForms(but sha256: [UInt8]) throws -> Bool {
    let reasons = VerificationError.Code.ofForm.map { "'\($0.rawValue)'" }.joined(separator: ", ")
    let count = try db.cached(
      "SELECT count(*) FROM evidence WHERE outcome = 2 AND reason IN (\(reasons)) AND sha256 <> ?")
    count.bind(1, sha256)
    return try count.first { $0.int(0) } ?? 0 >= Self.formsMax
  }

  private static let formsMax = 1000

  private func book(_ notification: NotificationFact?, evidence: [UInt8]) throws -> Bool {
    guard let content = notification?.content(in: policy.environment) else { return false }
    return try append(content, evidence: evidence) != nil
  }

  /// Queues queries to the store about the transactions that an unsigned message names.
  ///
  /// - Parameter claimant: The account to which the transactions belong if the store knows them.
  /// - Returns: How many of them are queued for the next pull.
  func remember(
    _ hints: [LookupHint], from source: LookupQueue.Source = .unknown, for claimant: AccountRow? = nil
  ) throws -> Int {
    var count = 0
    for (place, hint) in hints.enumerated() {
      let key = RowKey(hint.key)
      let isKnown = try key.map { try projections.row($0) != nil } ?? false
      guard try lookups().offer(hint, place: place, isKnown: isKnown, from: source) else { continue }
      count += 1
      if let claimant, let key { try addClaimant(AccountID(claimant.id), of: key) }
    }
    return count
  }
}

extension Submission {
  /// The source to which the submission's queries count.
  fileprivate var source: LookupQueue.Source {
    if let account { return .named("account \(account)") }
    if let origin { return .named("network \(origin)") }
    return channel == .operatorImport ? .operatorImport : .unknown
  }
}

extension VerifiedEvidence {
  /// The event that records why the evidence waits.
  func quarantineEvent(because reason: VerificationError) -> EventContent {
    let key = transactions.first?.key ?? notification?.transaction
    return .quarantine(
      kind: kind, reason: reason.code.rawValue, transaction: key?.environment.code == nil ? nil : key,
      signedDate: signedDate, note: notification?.uuid)
  }
}

extension NotificationFact {
  /// The event that records the notification.
  ///
  /// - Parameter environment: The ledger's environment, for a message that names none.
  func content(in environment: StoreEnvironment) -> EventContent {
    var notification = self
    if notification.environment?.code == nil { notification.environment = environment }
    if notification.transaction?.environment.code == nil { notification.transaction = nil }
    return .notification(notification)
  }
}

extension Booking {
  fileprivate func refused(_ refusal: VerificationError) -> Booking {
    var booking = self
    booking.outcome = .refused
    booking.reason = refusal
    return booking
  }

  fileprivate mutating func conclude(_ results: [Result], hasNews: Bool, ownEnvironment: StoreEnvironment) {
    self.results = results
    outcome = hasNews ? .accepted : .duplicate
    let refusals = results.compactMap(\.reason)
    if !refusals.isEmpty && refusals.count == results.count {
      outcome = .refused
      reason = refusals.first
      return
    }
    if !refusals.isEmpty { notes.append("partly-claimed") }
    // Verifiers note sandbox evidence; whether that differs from the ledger's environment is decided here.
    let place = notes.firstIndex(of: "sandbox")
    if let place { notes.remove(at: place) }
    let environments = environment.map { [$0] } ?? transactions.map(\.environment)
    if environments.contains(where: { $0 != ownEnvironment }) {
      notes.insert(ownEnvironment == .production ? "sandbox" : "production", at: place ?? notes.endIndex)
    }
    if transactions.contains(where: { $0.productType.isSubscription || $0.productType == .consumable }),
      !notes.contains("product-does-not-grant")
    {
      notes.append("product-does-not-grant")
    }
    reason = notes.first.map { VerificationError(VerificationError.Code(rawValue: $0), Self.explanation(of: $0)) }
  }

  private static func explanation(of note: String) -> String {
    switch note {
    case "sandbox": "recorded as a test purchase, which grants nothing here"
    case "production": "recorded as a real purchase, which grants nothing in a ledger of the sandbox"
    case "pending": "not paid yet; nothing is granted"
    case "partial-refund": "a part of the price was refunded; see the policy partial-refund"
    case "no-transactions": "verified; names no transaction"
    case "unknown-type": "a message of a type that this version does not know; stored"
    case "look-up": "unsigned; the next pull queries the store"
    case "look-up-partly":
      "unsigned; the next pull queries the store for a part of its transactions only: there are too many"
    case "product-does-not-grant": "a consumable or subscription: recorded for the account, grants nothing"
    case "unusable-price": "recorded without its price, which cannot be used; the journal marks the sale as unpriced"
    case "subscription": "about a subscription, of which the store is not asked; recorded"
    case "unconfirmed": "granted; the store gave no answer, and is asked again"
    case "partly-claimed": "some of its transactions belong to another account"
    default: note
    }
  }
}
