import Support

extension Ledger {
  /// Writes all accounts and all evidence that events name, as the lines of a spool: `import` and `merge` read them
  /// back. In one read transaction and in constant memory.
  ///
  /// A piece is written for each account that claims it, in the order of the claims; erased accounts come last, and
  /// their claims are left out.
  ///
  /// - Parameter progress: Receives the number of events looked at, and the total.
  /// - Returns: The number of lines.
  package func exportEvidence(
    to write: ([UInt8]) throws -> Void, progress: (Int, Int) -> Void = { _, _ in }
  ) throws -> Int {
    try read { db in
      var count = 0
      func line(_ bytes: [UInt8]) throws {
        try write(bytes + [0x0a])
        count += 1
      }
      let accounts = try db.cached("SELECT number, id, token, opened_seq, erased_seq FROM account ORDER BY number").all
      {
        AccountCache.read($0)
      }.compactMap { $0 }
      let opened = accounts.filter { $0.erasedSeq == nil }
      let now = clock.now()
      for account in opened {
        try line(
          SpoolLine.account(.opened(AccountID(account.id), token: AccountToken(account.token)), at: now))
      }
      for credential in try Ledger.credentials(db) { try line(SpoolLine.account(.credential(credential), at: now)) }
      try exportPieces(db, openAccounts: Set(opened.map { AccountID($0.id) }), to: line, progress: progress)
      let acts = try db.cached(
        "SELECT \(LedgerEvent.columns) FROM event WHERE type = \(EventType.act.rawValue) ORDER BY seq")
      for event in try acts.all({ try LedgerEvent($0, in: path) }) {
        if case .act(let act) = event.content { try line(SpoolLine.account(.act(act), at: event.recordedAt)) }
      }
      for account in accounts where account.erasedSeq != nil {
        try line(SpoolLine.account(.erased(AccountID(account.id)), at: now))
      }
      return count
    }
  }

  private func exportPieces(
    _ db: SQLiteConnection, openAccounts: Set<AccountID>, to line: ([UInt8]) throws -> Void,
    progress: (Int, Int) -> Void
  ) throws {
    let total = try db.cached("SELECT count(*) FROM event").first { $0.int(0) } ?? 0
    let events = try db.cached(
      """
      SELECT v.type, v.version, v.body, e.sha256, e.event IS v.seq, e.event IS NULL, e.outcome, e.kind, e.received_at,
        p.bytes, e.bytes
      FROM event AS v LEFT JOIN evidence AS e ON e.sha256 = v.evidence
      LEFT JOIN evidence_prefix AS p ON p.id = e.prefix_id ORDER BY v.seq
      """)
    defer { events.reset() }
    /// The piece of the last event, which the next event may claim.
    var waiting: ExportedPiece?
    func writeWaiting() throws {
      if let piece = waiting { try line(piece.line(for: nil)) }
      waiting = nil
    }
    var done = 0
    while try events.step() {
      done += 1
      if done % 4096 == 0 { progress(done, total) }
      guard let type = EventType(rawValue: UInt16(truncatingIfNeeded: events.int64(0))), !events.isNull(3),
        let kind = EvidenceKind(rawValue: UInt8(truncatingIfNeeded: events.int64(7)))
      else { continue }
      let content = try? EventContent(type: type, version: events.int64(1), body: events.blob(2))
      let piece = ExportedPiece(
        sha256: events.blob(3), kind: kind, bytes: (events.optionalBlob(9) ?? []) + events.blob(10),
        context: kind.isSigned ? EvidenceContext() : Self.context(content?.fact), time: events.int64(8))
      if case .claim(_, let account, let isTransfer, _)? = content {
        guard openAccounts.contains(account) else { continue }
        if waiting?.sha256 == piece.sha256 {
          try line((waiting ?? piece).line(for: account, isExplicit: isTransfer))
          waiting = nil
        } else {
          try writeWaiting()
          try line(piece.line(for: account, isExplicit: isTransfer))
        }
        continue
      }
      // The first event of a piece. Pulled pieces have none: `reconcile --apply` recorded what an event names.
      let isFirst = events.int64(4) == 1 || events.int64(6) == EvidenceStore.Outcome.quarantined.rawValue
      guard isFirst || (events.int64(5) == 1 && type == .transaction), waiting?.sha256 != piece.sha256 else { continue }
      try writeWaiting()
      waiting = piece
    }
    try writeWaiting()
    progress(total, total)
  }

  private struct ExportedPiece {
    var sha256: [UInt8]
    var kind: EvidenceKind
    var bytes: [UInt8]
    var context: EvidenceContext
    var time: Int64

    func line(for account: AccountID?, isExplicit: Bool = true) -> [UInt8] {
      SpoolLine.evidence(
        bytes, sha256: sha256, kind: kind, context: context, account: account, isExplicit: isExplicit,
        channel: .operatorImport, at: time)
    }
  }

  /// What unsigned evidence does not say itself.
  private static func context(_ fact: StoreTransaction?) -> EvidenceContext {
    guard let fact else { return EvidenceContext() }
    var context = EvidenceContext(
      productID: fact.productID.flatMap { $0.isEmpty ? nil : $0 }, purchaseToken: fact.purchaseToken,
      environment: fact.environment)
    context.purchaseDate = fact.purchaseDate
    return context
  }

  /// The sequence number of the last event.
  package var lastEvent: Int64 {
    get throws { try readStatement { try EventWriter.head($0).seq } }
  }

  /// Whether an account existed here and was erased.
  package func isErased(_ account: AccountID) throws -> Bool {
    try readStatement { db in
      let select = try db.cached("SELECT 1 FROM account WHERE id = ? AND erased_seq IS NOT NULL")
      select.bind(1, account.uuid)
      return try select.first { _ in true } ?? false
    }
  }

  /// Moves what the spool had at the beginning of a backup into a file beside the copy.
  ///
  /// - Parameters:
  ///   - mark: ``spoolMark()`` before the backup.
  ///   - file: The new file.
  /// - Returns: False if the spool was written anew meanwhile, as an erasure does: then it stays as it is.
  package func rotateSpool(_ mark: SpoolMark, to file: String) throws -> Bool {
    guard let spool else { return false }
    return try database.write { _ in
      guard try currentMark().identity == mark.identity else { return false }
      try EvidenceSpool.move(spool, first: mark.bytes, to: file)
      return true
    }
  }

  /// The spool's file and length while nobody writes: the ledger has all that its lines say.
  package func spoolMark() throws -> SpoolMark { try database.write { _ in try currentMark() } }

  private func currentMark() throws -> SpoolMark {
    let status = try spool.flatMap { try FileSystem.status($0) }
    return SpoolMark(identity: status?.identity, bytes: status?.bytes ?? 0)
  }

  package struct SpoolMark: Sendable {
    var identity: FileIdentity?
    var bytes: Int
  }
}
