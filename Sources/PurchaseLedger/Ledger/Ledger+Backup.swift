import GRDB

extension Ledger {
  /// What a backup holds.
  public struct Backup: Sendable, Hashable {
    public var events: Int
    /// The hash of the last event: `verify --head` of any later state of the ledger finds it.
    public var head: [UInt8]
  }

  /// Makes a copy that is a ledger by itself, while others write: it holds what was committed when it began, and nothing of what came later.
  ///
  /// It is made as `.NAME.unfinished` beside its name, for its owner's eyes only, and gets the name when its chain was followed from the first event to the
  /// last and it is on the disk.
  ///
  /// - Parameters:
  ///   - replacing: Whether a file of that name makes room; it is there until the copy is whole.
  ///   - progress: Pages copied, and how many there are.
  /// - Throws: `LedgerError`: there is a file, it cannot be written, or the ledger's chain is broken (`damaged`). Nothing is left of the copy then.
  public func backup(
    to file: String, replacing: Bool = false, progress: (Int, Int) -> Void = { _, _ in }
  ) throws -> Backup {
    guard !owns(file) else {
      throw LedgerError(.input, at: file, "is the ledger itself; name another file for the copy")
    }
    let new = try NewLedgerFile(for: file, replaces: replacing, remedy: "name another, or replace it with --force")
    do {
      let head = try read { db in
        // Reading fixes the view that is copied.
        let head = try EventWriter.head(db)
        try LedgerDatabase.reporting(file) {
          try LedgerDatabase.copy(db, to: new.path, progress: progress) { try checkChain($0, endsIn: head) }
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

  private func checkChain(_ copy: Database, endsIn head: EventChain) throws {
    let select = try SQLStatement(copy, "SELECT \(LedgerEvent.columns) FROM event ORDER BY seq")
    defer { select.reset() }
    var chain = EventChain()
    while try select.step() {
      guard chain.advance(over: select) == (true, true) else {
        throw LedgerError(
          .damaged, at: "\(path): event \(select.int(0))",
          "does not follow from the one before, and no copy was made; run `purchase-ledger verify`")
      }
    }
    guard chain.seq == head.seq, chain.hash == head.hash else {
      throw LedgerError(.database, at: path, "the copy ends in another event than the ledger; check the disk")
    }
  }
}
