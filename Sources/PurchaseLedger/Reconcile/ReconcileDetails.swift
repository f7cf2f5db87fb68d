import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads the details of a difference. Lives within the read transaction of the merge.
struct ReconcileDetails {
  private let projections: ReconcileProjections
  private let refusesUnknownTokens: Bool
  private let selectFact: SQLiteStatement
  private let selectRow: SQLiteStatement
  private let selectOrder: SQLiteStatement
  private let selectQuarantine: [SQLiteStatement]
  private let selectEvidence: SQLiteStatement
  private let selectNames: [SQLiteStatement]
  private let selectWaiting: SQLiteStatement
  private let selectPulled: SQLiteStatement

  init(_ db: SQLiteConnection, _ theirs: SQLiteConnection) throws {
    projections = try ReconcileProjections(db)
    refusesUnknownTokens = try EvidenceRecorder.policy(db).unknownToken == .refuse
    selectFact = try theirs.cached(
      "SELECT fact, evidence FROM store_snapshot WHERE store = ? AND environment = ? AND transaction_id = ?")
    selectRow = try db.cached(
      """
      SELECT \(TransactionRow.columns) FROM store_transaction
      WHERE store = ? AND environment = ? AND transaction_id = ?
      """)
    selectOrder = try db.cached(OrderTokens.selectOrder)
    // An export may contain evidence that the ledger has too.
    selectQuarantine = try (theirs === db ? [db] : [db, theirs]).map {
      try $0.cached("SELECT id, sha256, reason FROM evidence WHERE outcome = 2 ORDER BY id")
    }
    selectEvidence = try theirs.cached(EvidenceRow.select)
    selectNames = try (theirs === db ? [db] : [db, theirs]).map { try $0.cached(EvidenceRow.selectNames) }
    selectPulled = try theirs.cached(
      "SELECT 1 FROM store_snapshot WHERE store = ? AND environment = ? AND transaction_id = ?")
    selectWaiting = try theirs.cached(
      """
      SELECT 1 FROM quarantined_transaction AS q JOIN evidence AS e ON e.sha256 = q.evidence
      WHERE q.store = ? AND q.environment = ? AND q.transaction_id = ? AND e.outcome = 2
      """)
  }

  /// A row of the snapshot's evidence.
  func evidence(_ sha256: [UInt8]) throws -> EvidenceRow? {
    selectEvidence.bind(1, sha256)
    guard var evidence = try selectEvidence.first({ EvidenceRow($0) }) else { return nil }
    evidence.names = try selectNames.last.map { try names(sha256, $0) } ?? []
    return evidence
  }

  /// The transactions that quarantined evidence names.
  private func names(_ sha256: [UInt8], _ select: SQLiteStatement) throws -> [RowKey] {
    select.bind(1, sha256)
    return try select.all { row in
      RowKey(row)
    }
  }

  private func isWaiting(_ key: RowKey) throws -> Bool {
    selectWaiting.bind(1, key)
    return try selectWaiting.first { _ in true } ?? false
  }

  /// The snapshot's facts of a transaction.
  func facts(_ key: RowKey) throws -> SnapshotFacts? {
    selectFact.bind(1, key)
    return try selectFact.first { row in
      guard let facts = try? SnapshotFacts(bodies: row.blob(0), digests: row.blob(1)) else {
        throw LedgerError(
          .damaged, at: "store_snapshot \(key.id)", "cannot be read", remedy: "pull the store's records again")
      }
      return facts
    }
  }

  private func row(_ key: RowKey) throws -> TransactionRow? {
    selectRow.bind(1, key)
    return try selectRow.first { TransactionRow($0) }
  }

  /// Decides whether a transaction of the ledger is missing in the snapshot. It is not if it has an order id by now, is
  /// newer than the snapshot, a test by the store's word, a subscription, about which Google is not asked, or its
  /// evidence is in quarantine.
  ///
  /// - Parameter coveredAt: When all of the store's transactions were pulled, in milliseconds since 1970.
  func ownOnly(_ key: RowKey, coveredAt: Int64) throws -> OwnOnly {
    var line = ReconcileLine(.ownOnly, key.transactionKey)
    guard let row = try row(key) else { return .missing(line) }
    if row.purchaseDate > coveredAt || (key.store == Store.google.code && row.productType.isSubscription) {
      return .unasked
    }
    if let test = key.testOrder {
      selectPulled.bind(1, test)
      if try selectPulled.first({ _ in true }) ?? false { return .ordered }
    }
    if row.isTokenOnly, row.statement == .pending, try isOrdered(row) { return .ordered }
    // Google's answer about a pending order of several products states nothing to compare.
    if key.store == Store.google.code, row.statement == .pending { return .waiting }
    if try isWaiting(key) { return .waiting }
    line.ours = .init(row)
    line.owner = try projections.owner(of: row.grant).map { AccountID($0.id) }
    return .missing(line)
  }

  enum OwnOnly {
    case missing(ReconcileLine)
    /// Bought after the pull, or not asked about.
    case unasked
    /// Known by its order id, or as a test, too.
    case ordered
    /// The store's copy is in quarantine and reported there, or the purchase waits for its payment.
    case waiting
  }

  private func isOrdered(_ row: TransactionRow) throws -> Bool {
    selectOrder.bind(1, row.key.environment)
    selectOrder.bind(2, row.key.id)
    selectOrder.bind(3, row.key.id)
    return try selectOrder.first { _ in true } ?? false
  }

  func storeOnly(_ key: RowKey) throws -> ReconcileLine {
    var line = ReconcileLine(.storeOnly, key.transactionKey)
    guard let theirs = try facts(key)?.row else { return line }
    line.theirs = .init(theirs)
    return try judged(line, theirs)
  }

  /// Nil if the store's fact changes and contradicts nothing, because the ledger's is newer.
  func difference(_ key: RowKey) throws -> ReconcileLine? {
    guard let facts = try facts(key), let row = try row(key) else { return nil }
    let theirs = facts.row
    var joined = row
    joined.join(theirs)
    let changes = joined.digest != row.digest || joined.token != row.token
    guard changes || row.contradicts(theirs) || row.saysMore(than: theirs) else { return nil }
    var line = ReconcileLine(.stateDiffers, key.transactionKey)
    line.theirs = .init(theirs)
    line.ours = .init(row)
    line.differences = row.differences(from: theirs)
    line.owner = try projections.owner(of: row.grant).map { AccountID($0.id) }
    // The row after all facts would be recorded.
    var isDecided = false
    for entry in facts.entries {
      guard let revision = joined.revision(toFollow: entry.fact.row, in: theirs, DescribedField.allCases) else {
        continue
      }
      joined.join(TransactionRow(entry.fact.transaction, revision: revision))
      isDecided = true
    }
    line.isKept = !changes && !isDecided
    line.isSettled = !joined.contradicts(theirs)
    return joined.token == row.token ? line : try judged(line, theirs)
  }

  /// Turns a line into an account conflict if the fact would take the grant from its owner, which an operator has to
  /// decide.
  private func judged(_ line: ReconcileLine, _ fact: TransactionRow) throws -> ReconcileLine {
    var line = line
    guard let token = fact.token, let owner = try projections.owner(of: fact.grant) else { return line }
    line.owner = AccountID(owner.id)
    let account = try projections.account(token: token)
    // The token of an erased account also voids claims from before the erasure; a token without account does so only by
    // policy.
    guard account.map({ projections.heir(of: $0.number) != owner.number }) ?? refusesUnknownTokens else { return line }
    // An operator has decided otherwise.
    if try projections.isAssigned(fact.grant) { return line }
    line.class = .accountConflict
    line.claimant = account.map { AccountID($0.id) }
    return line
  }

  func quarantined(_ each: (ReconcileLine, _ sha256: [UInt8]) throws -> Void) throws {
    var seen: Set<[UInt8]> = []
    for (select, selectNames) in zip(selectQuarantine, selectNames) {
      defer { select.reset() }
      while try select.step() {
        let sha256 = select.blob(1)
        if selectQuarantine.count > 1, !seen.insert(sha256).inserted { continue }
        var line = ReconcileLine(.quarantined, try names(sha256, selectNames).first?.transactionKey)
        line.quarantine = "\(select.text(2)), evidence \(sha256.prefix(8).hexadecimal)"
        try each(line, sha256)
      }
    }
  }
}

/// Reads owners and accounts from the projections.
private struct ReconcileProjections {
  private let selectOwner: SQLiteStatement
  private let selectToken: SQLiteStatement
  private let selectAssigned: SQLiteStatement
  private let acts: ActCache

  init(_ db: SQLiteConnection) throws {
    let columns = "a.number, a.id, a.token, a.opened_seq, a.erased_seq"
    selectOwner = try db.cached(
      """
      SELECT \(columns) FROM entitlement AS e JOIN account AS a ON a.number = e.account
      WHERE e.store = ? AND e.environment = ? AND e.original_id = ?
      """)
    selectToken = try db.cached("SELECT \(columns) FROM account AS a WHERE a.token = ?")
    selectAssigned = try db.cached(
      """
      SELECT 1 FROM act AS x LEFT JOIN store_transaction AS t USING (store, environment, transaction_id)
      WHERE x.action = 'transfer' AND x.store = ?1 AND x.environment = ?2
        AND (x.transaction_id = ?3 OR t.original_id = ?3)
      """)
    acts = try ActCache(db)
  }

  func heir(of account: Int64) -> Int64 { acts.heir(of: account) }

  func isAssigned(_ grant: RowKey) throws -> Bool {
    selectAssigned.bind(1, grant)
    return try selectAssigned.first { _ in true } ?? false
  }

  func owner(of grant: RowKey) throws -> AccountRow? {
    selectOwner.bind(1, grant)
    return try selectOwner.first(AccountCache.read) ?? nil
  }

  /// The account with a token, also an erased one.
  func account(token: UUID) throws -> AccountRow? {
    selectToken.bind(1, token)
    return try selectToken.first(AccountCache.read) ?? nil
  }
}
