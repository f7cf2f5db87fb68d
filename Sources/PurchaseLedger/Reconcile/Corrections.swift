import Support

/// Records the store's facts in batches, while the merge continues in its own read transaction, and passes lines on
/// after their commit.
final class Corrections {
  /// The number of corrections recorded in one database transaction.
  private static let batch = 1000

  private let ledger: Ledger
  private let run: ImportPosition
  /// Whether the snapshot's evidence is outside the ledger.
  private let isApart: Bool
  private var lines: [ReconcileLine] = []
  private var facts: [Int: SnapshotFacts] = [:]
  private var evidence: [EvidenceRow] = []
  private(set) var applied = 0

  init(_ ledger: Ledger, isApart: Bool) throws {
    self.ledger = ledger
    self.isApart = isApart
    run = try ledger.startRun(of: "reconcile", input: "store_snapshot")
  }

  /// - Parameter quarantined: The digest of the evidence, for a line about quarantined evidence.
  func add(
    _ line: ReconcileLine, _ details: ReconcileDetails, quarantined: [UInt8]? = nil,
    each: (ReconcileLine) throws -> Void
  ) throws {
    if line.class == .storeOnly || (line.class == .stateDiffers && !line.isKept),
      let key = line.transaction.flatMap({ RowKey($0) })
    {
      facts[lines.count] = try details.facts(key)
    }
    if isApart {
      let digests = (facts[lines.count]?.entries.map(\.evidence) ?? []) + (quarantined.map { [$0] } ?? [])
      evidence += try digests.compactMap { try details.evidence($0) }
    }
    lines.append(line)
    if lines.count == Self.batch { try commit(isLast: false, each: each) }
  }

  /// Records the remaining lines, then the claims of accounts that waited for them. If the voided list has a gap,
  /// queues a query for every active Google purchase; the gap is closed by the pull that sends them.
  func finish(windowLost: Bool, each: (ReconcileLine) throws -> Void) throws {
    try commit(isLast: true, each: each)
    if !isApart { try ledger.write { try $0.claimAnswered() } }
    guard windowLost else { return }
    try ledger.write { try $0.askForActivePurchases() }
  }

  private func commit(isLast: Bool, each: (ReconcileLine) throws -> Void) throws {
    try ledger.write { recorder in
      for piece in evidence {
        if piece.outcome == EvidenceStore.Outcome.pulled.rawValue {
          try recorder.release(piece.sha256, kind: piece.kind, as: .pulled, because: "reconciled")
        }
        try recorder.evidence.keep(piece)
      }
      for index in lines.indices {
        if let found = facts[index], let key = lines[index].transaction {
          let entries = found.entries
          for entry in entries { _ = try recorder.book([entry.fact], evidence: entry.evidence) }
          // If only the tie-break favoured the ledger's value, applying the store's value is an operator's decision.
          for entry in entries { _ = try recorder.follow(entry.fact, in: found.row, evidence: entry.evidence) }
          try recorder.append(
            .correction(run: run.run, class: lines[index].class, key), evidence: entries.last?.evidence)
          lines[index].isApplied = true
        } else if lines[index].class == .ownOnly, let key = lines[index].transaction {
          let row = try RowKey(key).flatMap { try recorder.projections.row($0) }
          try recorder.lookups().ask(
            LookupHint(key: key, productID: lines[index].ours?.productID, purchaseToken: row?.purchaseToken))
        }
      }
      let position = lines.last?.transaction?.id ?? ""
      try recorder.record(ImportPosition(run: run.run, position: position, isFinished: isLast))
    }
    applied += facts.count
    defer {
      lines.removeAll(keepingCapacity: true)
      facts.removeAll(keepingCapacity: true)
      evidence.removeAll(keepingCapacity: true)
    }
    for line in lines { try each(line) }
  }
}

extension EvidenceRecorder {
  /// Queues a query for every active purchase, because any may have been voided during a gap of the voided list.
  fileprivate func askForActivePurchases() throws {
    try db.cached(
      """
      INSERT INTO lookup (store, environment, transaction_id, product_id, purchase_token, asked_at)
      SELECT store, environment, transaction_id, product_id, purchase_token, \(now) FROM store_transaction
      WHERE store = 2 AND statement IN (1, 3)
      ON CONFLICT (store, environment, transaction_id) DO UPDATE SET rank = 0
      """
    ).run()
  }
}
