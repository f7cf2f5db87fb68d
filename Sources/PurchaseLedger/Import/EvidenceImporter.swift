import Crypto

/// Imports files of evidence: verifies on all cores, records many pieces in each commit, reports committed pieces.
package struct EvidenceImporter: Sendable {
  /// The defaults for lines without their own values.
  package struct Defaults: Sendable {
    package var account: AccountID?
    package var kind: EvidenceKind?
    /// The largest number of pieces in a commit. Keys are random, so a small commit changes a page or more of the
    /// indexes for each piece; one of this size changes a fifth of that.
    package var batchCount: Int
    /// Whether lines describe recorded evidence that no account claims: then it is decoded again, otherwise only
    /// recognised.
    package var describesBooked: Bool
    /// Whether lines of a spool may erase accounts and change passwords, not only add accounts.
    package var changesAccounts: Bool
    /// The last event before a merge.
    var mergeBase: Int64?

    package init(
      account: AccountID? = nil, kind: EvidenceKind? = nil, batchCount: Int = 65_536, describesBooked: Bool = true,
      changesAccounts: Bool = false, mergeBase: Int64? = nil
    ) {
      self.mergeBase = mergeBase
      self.account = account
      self.kind = kind
      self.batchCount = batchCount
      self.describesBooked = describesBooked
      self.changesAccounts = changesAccounts
    }
  }

  /// The result of a piece.
  package struct Line: Sendable {
    package var source: String
    package var line: Int
    package var booking: Booking
  }

  package struct Progress: Sendable {
    package var pieces: Int
    package var bytes: Int
    /// Nil for a pipe.
    package var bytesTotal: Int?
  }

  let ledger: Ledger
  let verifier: EvidenceVerifier
  let identity: StoreIdentity
  let clock: LedgerClock
  let defaults: Defaults
  let findAccount: @Sendable (String) throws -> AccountID?

  /// The limits of a batch that is verified together.
  private static let batchCount = 8192
  private static let batchBytes = 64 << 20
  /// The limits of a commit. The writer of a pipe may wait for the results, so its commits are made earlier.
  private static let commitAge: Duration = .seconds(10)
  private static let pipedCommitAge: Duration = .seconds(1)
  private static let commitBytes = 128 << 20

  /// - Parameter findAccount: The open account of a login or id that a line names.
  package init(
    into ledger: Ledger, verifier: EvidenceVerifier, identity: StoreIdentity, clock: LedgerClock, defaults: Defaults,
    findAccount: @escaping @Sendable (String) throws -> AccountID?
  ) {
    self.ledger = ledger
    self.verifier = verifier
    self.identity = identity
    self.clock = clock
    self.defaults = defaults
    self.findAccount = findAccount
  }

  /// Reads, verifies and records the files; one commit is made while the next is verified.
  ///
  /// - Parameters:
  ///   - quarantined: Whether quarantined evidence is verified again after the files.
  ///   - each: Receives the lines of a commit after it was made, in the order of the files.
  ///   - progress: Called after each commit.
  /// - Returns: The pages of a store's list that say that there are more, where none follows in their file.
  /// - Throws: `LedgerError`; earlier commits stay.
  @discardableResult
  package func run(
    _ files: [String], quarantined: Bool = false, each: ([Line]) throws -> Void, progress: (Progress) -> Void
  ) async throws -> [(source: String, line: Int)] {
    let policy = try ledger.policy
    var done = Progress(pieces: 0, bytes: 0, bytesTotal: 0)
    // The number of files instead of their names, which may contain personal data and would outlive an erasure.
    var run = try ledger.startRun(of: "import", input: "files: \(files.count)")
    try ledger.beginBulk()
    defer { ledger.endBulk() }
    var pending: Task<[Line], any Error>?
    // One commit is verified while the previous one is written.
    func finish() async throws {
      guard let task = pending else { return }
      pending = nil
      let lines = try await task.value
      try each(lines)
      done.pieces += lines.count
      progress(done)
    }
    let opened = try files.map { try EvidenceFile(path: $0, evidenceBytesMax: policy.evidenceBytesMax) }
    let total = opened.map(\.bytesTotal)
    done.bytesTotal = total.contains(nil) ? nil : total.compactMap { $0 }.reduce(0, +)
    var waiting = Waiting()
    func commit() async throws {
      try await finish()
      guard let last = waiting.places.last else { return }
      run.position = "\(files.firstIndex(of: last.source).map { "file \($0 + 1)" } ?? last.source) line \(last.line)"
      let (position, ledger, batch) = (run, ledger, waiting)
      waiting = Waiting()
      done.bytes = opened.map(\.bytesRead).reduce(0, +)
      pending = Task.detached {
        zip(batch.places, try ledger.commit(batch.pieces, progress: position)).map {
          Line(source: $0.source, line: $0.line, booking: $1)
        }
      }
    }
    let age = total.contains(nil) ? Self.pipedCommitAge : Self.commitAge
    func add(_ batch: [EvidenceItem]) async throws {
      waiting.add(batch, try await prepare(batch, policy))
      if waiting.pieces.count >= defaults.batchCount || waiting.bytes >= Self.commitBytes
        || ContinuousClock.now - waiting.since >= age
      {
        try await commit()
      }
    }
    for file in opened {
      while let batch = try batch(file) {
        // Lines about accounts take effect in their order: a claim before an erasure ends with it.
        for part in batch.split(beforeChangesOf: SpoolLine.isAccount) {
          guard part.allSatisfy(SpoolLine.isAccount) else {
            try await add(Array(part))
            continue
          }
          try await commit()
          try await finish()
          let lines = try AccountLines(ledger: ledger, changesAccounts: defaults.changesAccounts).apply(part)
          try each(lines)
          done.pieces += lines.count
        }
      }
    }
    var last: Int64 = 0
    while quarantined {
      let kept = try ledger.quarantinedEvidence(after: last)
      guard let end = kept.last?.number else { break }
      last = end
      try await add(
        kept.map { EvidenceItem(source: "quarantine", line: Int($0.number), bytes: $0.bytes, isTooLarge: false) })
    }
    try await commit()
    try await finish()
    run.isFinished = true
    _ = try ledger.commit([PreparedEvidence](), progress: run)
    return zip(files, opened).compactMap { name, file in file.lineOfUnfinishedPage.map { (name, $0) } }
  }

  /// What to say of a page behind which others are missing.
  package static let unfinishedPage = VerificationError(
    .incomplete, "the page says that there are more, and none follows",
    remedy: "import the other pages too, or pull the store's records")

  /// The verified pieces of the next commit.
  private struct Waiting: Sendable {
    var places: [(source: String, line: Int)] = []
    var pieces: [PreparedEvidence] = []
    var bytes = 0
    let since = ContinuousClock.now

    mutating func add(_ batch: [EvidenceItem], _ prepared: [PreparedEvidence]) {
      places += batch.map { ($0.source, $0.line) }
      pieces += prepared
      bytes += prepared.reduce(0) { $0 + $1.rest.count }
    }
  }

  func batch(_ file: EvidenceFile) throws -> [EvidenceItem]? {
    var batch: [EvidenceItem] = []
    var bytes = 0
    let start = ContinuousClock.now
    while batch.count < min(defaults.batchCount, Self.batchCount), bytes < Self.batchBytes, let piece = try file.next()
    {
      if let hasMore = EvidenceWrapper.pageHasMore(piece) { file.lineOfUnfinishedPage = hasMore ? piece.line : nil }
      batch += defaults.kind == nil ? EvidenceWrapper.pieces(of: piece) : [piece]
      bytes += piece.bytes.count
      // A slow pipe must not delay the commit.
      if batch.count % 64 == 0, ContinuousClock.now - start > .seconds(1) { break }
    }
    return batch.isEmpty ? nil : batch
  }
}
