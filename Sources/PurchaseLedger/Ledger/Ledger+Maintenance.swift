import Support

// MARK: - Backup

extension Ledger {
  /// What a backup contains.
  public struct Backup: Sendable, Hashable {
    /// The number of events, which is the last one's sequence number.
    public var events: Int
    /// The hash of the last event, which `verify --head` finds in any later state of the ledger.
    public var head: [UInt8]
  }

  /// Copies the ledger while others write: the copy has the state at the start of the backup.
  ///
  /// The copy is written as `.NAME.unfinished`, readable by its owner only, and published atomically: its hash chain is
  /// checked from the first event to the last, then it is synced and renamed.
  ///
  /// - Parameters:
  ///   - replacing: Whether an existing file is replaced, once the copy is complete.
  ///   - progress: Receives the number of pages copied, and the total.
  /// - Throws: `LedgerError` if the file exists or cannot be written, or the ledger's chain is broken (`damaged`). The
  ///   unfinished copy is removed.
  public func backup(
    to file: String, replacing: Bool = false, progress: (Int, Int) -> Void = { _, _ in }
  ) throws -> Backup {
    guard !owns(file) else {
      throw LedgerError(.input, at: file, "is the ledger itself", remedy: "name another file for the copy")
    }
    let new = try NewLedgerFile(for: file, replaces: replacing, remedy: "name another")
    do {
      let head = try read { db in
        // The first read starts the read transaction whose state is copied.
        let head = try EventWriter.head(db)
        try LedgerDatabase.reporting(file) {
          try LedgerDatabase.copy(db, to: new.path, progress: progress) { copy in
            try checkChain(copy, endsIn: head)
            try mark(copy)
          }
        }
        return head
      }
      try new.commit()
      return Backup(events: Int(head.seq), head: head.hash)
    } catch {
      new.remove()
      throw error
    }
  }

  /// The cursor that a backup has, and the ledger that it was made of has not: when it was made.
  static let backupMade = "backup.made"

  /// Notes in the copy when it was made, so that `reconcile` knows a restored ledger.
  private func mark(_ copy: SQLiteConnection) throws {
    try copy.setCursor(Self.backupMade, to: String(clock.now()), at: clock.now())
  }

  private func checkChain(_ copy: SQLiteConnection, endsIn head: EventChain) throws {
    let select = try copy.cached("SELECT \(LedgerEvent.columns) FROM event ORDER BY seq")
    defer { select.reset() }
    var chain = EventChain()
    while try select.step() {
      guard chain.advance(over: select) == (true, true) else {
        throw LedgerError(
          .damaged, at: "\(path): event \(select.int64(0))",
          "does not follow from the previous event, so no copy was made", remedy: "run `purchase-ledger verify`")
      }
    }
    guard chain.seq == head.seq, chain.hash == head.hash else {
      throw LedgerError(
        .database, at: path, "the copy ends with another event than the ledger", remedy: "check the disk")
    }
  }
}

// MARK: - Rebuilding

extension Ledger {
  /// Recreates the projections from the events, and every index from its table, in one transaction. The result is byte
  /// for byte the same.
  ///
  /// - Throws: `LedgerError` with code `damaged` that names an event that cannot be read; nothing is changed then.
  package func rebuild(progress: (Int, Int) -> Void = { _, _ in }) throws {
    try LedgerDatabase.reporting(path) {
      try database.write { db in
        for table in ["evidence_prefix", "evidence", "event", "credential", "session"] {
          try db.execute("REINDEX \(table)")
        }
        let replay = try EventReplay(db, path: path)
        for (table, _) in LedgerSchema.projections { try db.execute("DELETE FROM \(table)") }
        let projections = try Projections(db, policy: try replay.finalPolicy())
        try replay.run(into: projections, progress: progress) { try LedgerEvent($0, in: path) }
      }
    }
  }
}

// MARK: - Large commits

extension Ledger {
  /// Enlarges the writer's cache to hold all pages that a large commit changes, so that none is written twice.
  func beginBulk() throws {
    try LedgerDatabase.reporting(path) {
      try database.writeWithoutTransaction { try LedgerDatabase.setCache($0, isBulk: true) }
    }
  }

  /// Shrinks the cache again and checkpoints the log as far as no reader prevents it, so that reads use the
  /// memory-mapped file.
  func endBulk() {
    // Errors are ignored: the commits are durable without either.
    try? database.writeWithoutTransaction { db in
      try LedgerDatabase.setCache(db, isBulk: false)
      db.releaseMemory()
      try db.checkpoint(.passive)
    }
  }
}

// MARK: - Quarantine

extension Ledger {
  /// Evidence in quarantine.
  package struct Quarantined: Sendable, Hashable {
    package var sha256: [UInt8]
    /// The code of the refusal that put it into quarantine.
    package var reason: String
    /// Milliseconds since 1970.
    package var receivedAt: Int64
  }

  /// The evidence in quarantine, in the order of arrival.
  package func quarantined() throws -> [Quarantined] {
    try readStatement { db in
      try db.cached("SELECT sha256, reason, received_at FROM evidence WHERE outcome = 2 ORDER BY id").all {
        Quarantined(sha256: $0.blob(0), reason: $0.optionalText(1) ?? "", receivedAt: $0.int64(2))
      }
    }
  }

  /// A page of quarantined evidence after a row number. The context of its submission is not stored.
  func quarantinedEvidence(after last: Int64) throws -> [(number: Int64, bytes: [UInt8])] {
    try readStatement { db in
      let select = try db.cached(
        """
        SELECT e.id, p.bytes, e.bytes FROM \(EvidenceRow.source)
        WHERE e.outcome = 2 AND e.id > ? ORDER BY e.id LIMIT 256
        """)
      select.bind(1, last)
      return try select.all { ($0.int64(0), $0.blob(1) + $0.blob(2)) }
    }
  }

  /// Dismisses evidence from quarantine. Its bytes stay and an event records the dismissal; presented again it is
  /// judged again.
  ///
  /// - Parameters:
  ///   - prefix: The first hexadecimal digits of its SHA-256, as reports print them.
  ///   - because: The reason, for the history; must not contain personal data.
  /// - Throws: `LedgerError` (`input`) if no or more than one quarantined piece has the prefix.
  @discardableResult
  package func dismissEvidence(_ prefix: String, because: String) throws -> Quarantined {
    let matches = try quarantined().filter { $0.sha256.hexadecimal.hasPrefix(prefix.lowercased()) }
    guard let piece = matches.first, !prefix.isEmpty else {
      throw LedgerError(
        .input, at: prefix, "no hash of quarantined evidence begins so", remedy: "list what is in quarantine")
    }
    guard matches.count == 1 else {
      throw LedgerError(
        .input, at: prefix, "\(matches.count) hashes of quarantined evidence begin so", remedy: "give more digits")
    }
    try write { recorder in
      try recorder.evidence.dismiss(piece.sha256)
      try recorder.append(
        .audit(
          kind: EvidenceRecorder.dismissed, account: nil, subject: piece.sha256.hexadecimal, outcome: piece.reason,
          detail: because, nonce: AccountID.random()))
    }
    return piece
  }
}
