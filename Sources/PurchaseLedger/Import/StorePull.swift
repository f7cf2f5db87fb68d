/// Pulls a store's transactions into the snapshot: notifications, refunds, and the queries that hints and gaps of the
/// voided list request.
package struct StorePull: Sendable {
  private let ledger: Ledger
  private let snapshot: Snapshot
  private let environment: StoreEnvironment
  private let clock: LedgerClock

  package init(ledger: Ledger, clock: LedgerClock) throws {
    self.ledger = ledger
    self.clock = clock
    snapshot = Snapshot(of: ledger)
    environment = try ledger.policy.environment
  }

  /// Pulls Apple's notifications since a date, then the histories and refunds of customers.
  ///
  /// - Parameters:
  ///   - wanted: From when on notifications are read.
  ///   - everyone: Pulls the history of each customer, not only those of queued queries.
  ///   - transactions: Additional customers, each by the id of a transaction.
  package func apple(
    _ client: AppStoreClient, _ wanted: FeedStart = .next, everyone: Bool, transactions: [String],
    progress: (Int, Int) -> Void
  ) async throws -> PullReport {
    var report = try await client.pullNotifications(wanted, into: snapshot)
    // A gap of the history, also one that an earlier pull found and did not close.
    if try snapshot.lostWindow(of: .apple, environment) != nil { report.isWindowLost = true }
    let isAgain = if case .again = wanted { true } else { false }
    let hints = try ledger.lookups().filter { $0.key.store == .apple && $0.key.environment == environment }
    var ids = transactions + hints.map(\.key.id)
    if everyone || report.isWindowLost { ids += try ledger.customers(of: .apple, in: environment) }
    var asked: Set<String> = []
    for (index, id) in ids.enumerated() where asked.insert(id).inserted {
      try await answered(&report) {
        try await $0.add(client.pullHistory(of: id, again: isAgain, into: snapshot))
        try await $0.add(client.pullRefunds(of: id, again: isAgain, into: snapshot))
      }
      for hint in hints where hint.key.id == id { try await ledger.removeLookup(hint.key) }
      progress(index + 1, ids.count)
    }
    if everyone || report.isWindowLost {
      try snapshot.cover(.apple, environment)
      if !report.isHeld { try snapshot.closeLostWindow(of: .apple, environment) }
    }
    return report
  }

  /// Pulls Google's voided list, then the queued queries; every purchase if the voided list has a gap.
  ///
  /// - Parameter acknowledge: Acknowledges purchases to Google and records that.
  package func google(
    _ client: GooglePlayClient, _ wanted: FeedStart = .next, everyone: Bool, acknowledge: Bool,
    progress: (Int, Int) -> Void
  ) async throws -> PullReport {
    var report = try await client.pullVoided(wanted, into: snapshot)
    // A gap that an earlier pull found and did not close.
    if try snapshot.lostWindow(of: .google, environment) != nil { report.isWindowLost = true }
    // First, because of the deadline: Google refunds purchases that are not acknowledged.
    if acknowledge { try await acknowledgeAll(client, &report) }
    let hints = try ledger.lookups().filter { $0.key.store == .google && $0.key.environment == environment }
    var questions = hints
    if everyone || report.isWindowLost { questions += try ledger.googlePurchases(in: environment) }
    var asked: Set<String> = []
    for (index, hint) in questions.enumerated() {
      progress(index + 1, questions.count)
      guard let token = hint.purchaseToken, let product = hint.productID, !product.isEmpty else {
        // A query without token or product cannot be sent.
        if hints.contains(hint) { try await ledger.removeLookup(hint.key) }
        continue
      }
      if asked.insert(token).inserted {
        try await answered(&report) { try await $0.add(client.pullProduct(product, token: token, into: snapshot)) }
      }
      if hints.contains(hint) { try await ledger.removeLookup(hint.key) }
    }
    if everyone || report.isWindowLost {
      try snapshot.cover(.google, environment)
      // Each purchase was queried, so the gap is closed unless an answer was quarantined.
      if !report.isHeld { try snapshot.closeLostWindow(of: .google, environment) }
    }
    return report
  }

  private func acknowledgeAll(_ client: GooglePlayClient, _ report: inout PullReport) async throws {
    for hint in try ledger.unacknowledged(olderThan: Int64(ledger.policy.acknowledgeAfterSeconds) * 1000) {
      guard let token = hint.purchaseToken, let product = hint.productID, !product.isEmpty else { continue }
      try await answered(&report) { _ in
        try await client.acknowledge(product, token: token)
        try await ledger.recordAcknowledgement(hint.key)
      }
    }
  }

  /// Reports an unknown object as a refusal and continues: a forged message may have requested it.
  private func answered(
    _ report: inout PullReport, _ ask: (inout PullReport) async throws -> Void
  ) async throws {
    do {
      try await ask(&report)
    } catch let error as LedgerError where error.code == .notInStore {
      report.refusals.append(VerificationError(.storeRefused, "\(error)"))
    }
  }
}

// MARK: - Exports

/// Reads an export of a store's list into the snapshot, where it replaces the stores and environments that it names.
package struct SnapshotReader: Sendable {
  private let importer: EvidenceImporter
  private let snapshot: Snapshot
  private let policy: LedgerPolicy

  /// - Parameter importer: Verifies the lines; it records nothing here.
  package init(_ importer: EvidenceImporter, snapshot: Snapshot) throws {
    self.importer = importer
    self.snapshot = snapshot
    policy = try importer.ledger.policy
  }

  /// - Returns: How many pieces were read, and the refusals.
  package func read(
    _ path: String, progress: (EvidenceImporter.Progress) -> Void = { _ in }
  ) async throws -> PullReport {
    var report = PullReport()
    var cleared: Set<Scope> = []
    let file = try EvidenceFile(path: path, evidenceBytesMax: policy.evidenceBytesMax)
    while let batch = try importer.batch(file) {
      var page = SnapshotPage(evidence: [], cursor: nil)
      for piece in try await importer.prepare(batch, policy, keepsBooked: true) {
        switch piece.result {
        case .success(let content): page.evidence.append((piece.evidence, content))
        case .failure(let refusal): report.refusals.append(refusal)
        }
      }
      for fact in page.evidence.lazy.flatMap(\.content.transactions) {
        let scope = Scope(store: fact.store, environment: fact.environment)
        if cleared.insert(scope).inserted { try snapshot.clear(scope.store, scope.environment) }
      }
      try snapshot.store(page)
      report.pages += 1
      report.pieces += page.evidence.count
      progress(.init(pieces: report.pieces, bytes: file.bytesRead, bytesTotal: file.bytesTotal))
    }
    // An export is complete.
    for scope in cleared { try snapshot.cover(scope.store, scope.environment) }
    return report
  }

  private struct Scope: Hashable {
    var store: Store
    var environment: StoreEnvironment
  }
}
