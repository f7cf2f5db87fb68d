import Support

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
    if let line = file.lineOfUnfinishedPage {
      let reason = EvidenceImporter.unfinishedPage
      report.refusals.append(
        VerificationError(reason.code, "\(path):\(line): \(reason.message)", remedy: reason.remedy))
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
