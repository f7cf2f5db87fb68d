import Crypto
import Foundation

/// Books files of evidence: verifies on all cores, commits in batches, reports what was committed.
package struct EvidenceImporter: Sendable {
  /// What holds where a line does not say it.
  package struct Defaults: Sendable {
    package var account: AccountID?
    package var kind: EvidenceKind?
    /// How many pieces share a commit.
    package var batchCount: Int

    package init(account: AccountID? = nil, kind: EvidenceKind? = nil, batchCount: Int = 8192) {
      self.account = account
      self.kind = kind
      self.batchCount = batchCount
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

  private static let batchBytes = 64 << 20

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
  ///   - each: Gets the lines of a batch after its commit, in the order of the files.
  ///   - progress: After each batch.
  /// - Throws: `LedgerError`; what was committed before stays.
  package func run(
    _ files: [String], each: ([Line]) throws -> Void, progress: (Progress) -> Void
  ) async throws {
    let policy = try ledger.policy
    var done = Progress(pieces: 0, bytes: 0, bytesTotal: 0)
    var run = try ledger.startRun(of: "import", input: files.joined(separator: "\n"))
    var pending: Task<[Line], any Error>?
    // One batch is verified while the one before it is committed.
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
    for file in opened {
      while let batch = try batch(file) {
        let prepared = try await prepare(batch, policy)
        try await finish()
        run.position = "\(batch.last?.source ?? "") \(batch.last?.line ?? 0)"
        let (position, ledger) = (run, ledger)
        done.bytes = opened.map(\.bytesRead).reduce(0, +)
        pending = Task.detached {
          zip(batch, try ledger.commit(prepared, progress: position)).map {
            Line(source: $0.source, line: $0.line, booking: $1)
          }
        }
      }
    }
    try await finish()
    run.isFinished = true
    _ = try ledger.commit([PreparedPiece](), progress: run)
  }

  func batch(_ file: EvidenceFile) throws -> [EvidencePiece]? {
    var batch: [EvidencePiece] = []
    var bytes = 0
    let start = ContinuousClock.now
    while batch.count < defaults.batchCount, bytes < Self.batchBytes, let piece = try file.next() {
      batch.append(piece)
      bytes += piece.bytes.count
      // Of a pipe that drips, nothing waits long for its commit.
      if batch.count % 64 == 0, ContinuousClock.now - start > .seconds(1) { break }
    }
    return batch.isEmpty ? nil : batch
  }
}
