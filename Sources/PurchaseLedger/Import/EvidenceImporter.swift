import Crypto
import Foundation

/// Books files of evidence: verifies on all cores, commits many at once, reports what was committed.
package struct EvidenceImporter: Sendable {
  /// What holds where a line does not say it.
  package struct Defaults: Sendable {
    package var account: AccountID?
    package var kind: EvidenceKind?
    /// How many pieces share a commit at most. Of a million transactions every page of the indexes with random keys gets one in a hundred, so a small
    /// commit writes a page or more for each piece, and one of this size a fifth of that.
    package var batchCount: Int
    /// Whether lines say what is in bytes that are booked already, and for which nobody claims anything: then they are decoded again, otherwise only recognised.
    package var describesBooked: Bool

    package init(
      account: AccountID? = nil, kind: EvidenceKind? = nil, batchCount: Int = 65_536, describesBooked: Bool = true
    ) {
      self.account = account
      self.kind = kind
      self.batchCount = batchCount
      self.describesBooked = describesBooked
    }
  }

  /// What became of a piece.
  package struct Line: Sendable {
    package var source: String
    package var line: Int
    package var booking: Booking
  }

  package struct Progress: Sendable {
    package var pieces: Int
    package var bytes: Int
    /// Nil when a pipe is read.
    package var bytesTotal: Int?
  }

  let ledger: Ledger
  let verifier: EvidenceVerifier
  let identity: StoreIdentity
  let clock: LedgerClock
  let defaults: Defaults

  /// Pieces that are verified together, and bytes.
  private static let batchCount = 8192
  private static let batchBytes = 64 << 20
  /// A commit waits no longer for its pieces than this, and not for more bytes. A file is there; whoever writes into a pipe may wait for the answer.
  private static let commitAge: Duration = .seconds(10)
  private static let pipedCommitAge: Duration = .seconds(1)
  private static let commitBytes = 128 << 20

  package init(
    into ledger: Ledger, verifier: EvidenceVerifier, identity: StoreIdentity, clock: LedgerClock,
    defaults: Defaults = Defaults()
  ) {
    self.ledger = ledger
    self.verifier = verifier
    self.identity = identity
    self.clock = clock
    self.defaults = defaults
  }

  /// - Parameters:
  ///   - quarantined: Whether what is in quarantine is judged anew, after the files.
  ///   - each: Gets the lines of a commit after it was made, in the order of the files.
  ///   - progress: After each commit.
  /// - Throws: `LedgerError`; what was committed before stays.
  package func run(
    _ files: [String], quarantined: Bool = false, each: ([Line]) throws -> Void, progress: (Progress) -> Void
  ) async throws {
    let policy = try ledger.policy
    var done = Progress(pieces: 0, bytes: 0, bytesTotal: 0)
    // How many, not which: a name may be a person's, and would outlive the account.
    var run = try ledger.startRun(of: "import", input: "files: \(files.count)")
    try ledger.beginBulk()
    defer { ledger.endBulk() }
    var pending: Task<[Line], any Error>?
    // One commit is verified while the one before it is made.
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
    func add(_ batch: [EvidencePiece]) async throws {
      waiting.add(batch, try await prepare(batch, policy))
      if waiting.pieces.count >= defaults.batchCount || waiting.bytes >= Self.commitBytes
        || ContinuousClock.now - waiting.since >= age
      {
        try await commit()
      }
    }
    for file in opened {
      while let batch = try batch(file) { try await add(batch) }
    }
    var last: Int64 = 0
    while quarantined {
      let kept = try ledger.quarantinedEvidence(after: last)
      guard let end = kept.last?.number else { break }
      last = end
      try await add(
        kept.map { EvidencePiece(source: "quarantine", line: Int($0.number), bytes: $0.bytes, isTooLarge: false) })
    }
    try await commit()
    try await finish()
    run.isFinished = true
    _ = try ledger.commit([PreparedPiece](), progress: run)
  }

  /// What was verified for the next commit.
  private struct Waiting: Sendable {
    var places: [(source: String, line: Int)] = []
    var pieces: [PreparedPiece] = []
    var bytes = 0
    let since = ContinuousClock.now

    mutating func add(_ batch: [EvidencePiece], _ prepared: [PreparedPiece]) {
      places += batch.map { ($0.source, $0.line) }
      pieces += prepared
      bytes += prepared.reduce(0) { $0 + $1.rest.count }
    }
  }

  func batch(_ file: EvidenceFile) throws -> [EvidencePiece]? {
    var batch: [EvidencePiece] = []
    var bytes = 0
    let start = ContinuousClock.now
    while batch.count < min(defaults.batchCount, Self.batchCount), bytes < Self.batchBytes, let piece = try file.next()
    {
      batch.append(piece)
      bytes += piece.bytes.count
      // Of a pipe that drips, nothing waits long for its commit.
      if batch.count % 64 == 0, ContinuousClock.now - start > .seconds(1) { break }
    }
    return batch.isEmpty ? nil : batch
  }
}
