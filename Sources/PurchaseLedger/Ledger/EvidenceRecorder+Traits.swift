import Support

/// What evidence says beside the facts.
extension EvidenceRecorder {
  /// The cursor with the app of a store whose purchases need no trait: the first one that was recorded.
  private static func firstApp(_ store: Store) -> String { "first-app.\(store.rawValue)" }

  /// The first app of a store; nil while nothing of it is recorded.
  static func firstApp(of store: Store, _ db: SQLiteConnection) throws -> String? {
    let select = try db.cached("SELECT value FROM cursor WHERE name = ?")
    select.bind(1, firstApp(store))
    return try select.first { $0.text(0) }
  }

  /// Records what a piece says of its transactions beside their facts.
  ///
  /// - Returns: Whether anything of it is new, the app aside.
  func bookTraits(of content: VerifiedEvidence, evidence: [UInt8]) throws -> Bool {
    var isNew = false
    for trait in content.traits where try append(.trait(trait), evidence: evidence) != nil { isNew = true }
    if let app = content.app, try !isFirst(app, of: content.store) {
      for trait in content.appTraits { try append(.trait(trait), evidence: evidence) }
    }
    return isNew
  }

  /// Whether an app is the store's first one; the first evidence of a store decides.
  private func isFirst(_ app: String, of store: Store) throws -> Bool {
    if let known = firstApps[store] { return known == app }
    return try settleFirstApp(of: store, app) == app
  }

  /// The first app of a store: the one that is known, else this one from now on.
  func settleFirstApp(of store: Store, _ app: String) throws -> String {
    let first = try Self.firstApp(of: store, db) ?? Self.appOfOldestEvidence(of: store, db) ?? app
    firstApps[store] = first
    let insert = try db.cached("INSERT OR IGNORE INTO cursor (name, value, updated_at) VALUES (?, ?, ?)")
    insert.bind(1, Self.firstApp(store))
    insert.bind(2, first)
    insert.bind(3, now)
    try insert.run()
    return first
  }

  /// The app of what a ledger of an earlier version has, which had one app of each store.
  private static func appOfOldestEvidence(of store: Store, _ db: SQLiteConnection) throws -> String? {
    let kinds = store == .apple ? [EvidenceKind.transaction, .notification] : [.googlePurchase]
    let select = try db.cached(
      """
      SELECT e.kind, p.bytes, e.bytes FROM \(EvidenceRow.source)
      WHERE e.outcome IN (1, 4) AND e.kind IN (\(kinds.map { "\($0.rawValue)" }.joined(separator: ", "))) LIMIT 20
      """)
    for (kind, bytes) in try select.all({
      (EvidenceKind(rawValue: UInt8(truncatingIfNeeded: $0.int64(0))), $0.blob(1) + $0.blob(2))
    }) {
      if let app = kind.flatMap({ EvidenceForm.app(in: bytes, as: $0) }) { return app }
    }
    return nil
  }

  /// Records that an account has presented app transactions.
  ///
  /// - Returns: Whether an event was appended.
  func claimApps(in content: VerifiedEvidence, by account: AccountRow, evidence: [UInt8]) throws -> Bool {
    var isNew = false
    for key in Set(content.traits.map(\.key)) where key.isApp {
      guard let row = RowKey(key) else { continue }
      let own = try projections.claims.claims(of: row).filter {
        $0.account == account.number && $0.mode != ClaimRow.assigned
      }
      if let last = own.last, projections.accounts.lastErasure <= last.seq { continue }
      try append(
        .claim(key, account: AccountID(account.id), isTransfer: false, after: own.last?.seq ?? 0), evidence: evidence)
      isNew = true
    }
    return isNew
  }
}

extension VerifiedEvidence {
  /// Of which app each transaction is.
  var appTraits: [TransactionTrait] {
    guard let app else { return [] }
    let keys = transactions.map(\.key) + Set(traits.map(\.key).filter(\.isApp)).sorted { $0.id < $1.id }
    return keys.filter { $0.environment.code != nil }.map { TransactionTrait(key: $0, .app, app) }
  }

  /// All that may be recorded of it.
  var allTraits: [TransactionTrait] { traits + appTraits }
}

extension Ledger {
  /// The first app of a store, whose purchases and cursors need no name: that of the first recorded evidence, else the
  /// first of those that are configured, which it then stays.
  package func firstApp(of store: Store, among configured: [String]) throws -> String? {
    guard let first = configured.first else { return nil }
    if let known = try readStatement({ try EvidenceRecorder.firstApp(of: store, $0) }) { return known }
    return try write { try $0.settleFirstApp(of: store, first) }
  }
}
