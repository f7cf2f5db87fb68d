import Crypto
import LibC
import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Ledger {
  /// Verifies evidence, records it and commits, in this order:
  /// 1. evidence that was recorded before is recognised by its SHA-256;
  /// 2. the verifier checks the signature and decodes the facts;
  /// 3. digests, event bodies and keys are computed outside the write lock (`PreparedEvidence`);
  /// 4. `EvidenceRecorder` appends the events and folds them, in a commit that concurrent calls share (`GroupCommit`).
  ///
  /// - Throws: `LedgerError` if the ledger cannot be written; evidence that is not accepted is an outcome, not an
  ///   error.
  public func book(_ submission: Submission, with verifier: EvidenceVerifier) async throws -> Booking {
    try await book(try await prepare(submission, with: verifier))
  }

  /// The steps that compute, 1 to 3.
  package func prepare(_ submission: Submission, with verifier: EvidenceVerifier) async throws -> PreparedEvidence {
    let now = clock.now()
    var submission = submission
    // What a client library wraps around it is not recorded. The verifier names the fault of a form without evidence.
    if submission.kind == nil, let piece = try? EvidenceForm.piece(in: submission.evidence) {
      submission.evidence = piece
    }
    // What Google signs and its messages name no environment: it is the ledger's, as in an import.
    if submission.context.environment == nil, submission.evidence.first == UInt8(ascii: "{") {
      submission.context.environment = try policy.environment
    }
    return try await prepare(submission) { (submission, verifiedAs) async throws(VerificationError) in
      try await verifier.read(
        submission.evidence, as: verifiedAs ?? submission.kind, context: submission.context, at: now,
        trusted: verifiedAs != nil)
    }
  }

  /// Records evidence with any verifier.
  ///
  /// - Parameter verify: Verifies the submission. Its second argument is the kind as which the same bytes were accepted
  ///   before: read as that kind their signatures need not be checked again.
  /// - Throws: `LedgerError` if the ledger cannot be written; evidence that is not accepted is an outcome, not an
  ///   error.
  package func book(
    _ submission: Submission,
    verifying verify: (Submission, _ verifiedAs: EvidenceKind?) async throws(VerificationError) -> VerifiedEvidence
  ) async throws -> Booking {
    try await book(try await prepare(submission, verifying: verify))
  }

  private func prepare(
    _ submission: Submission,
    verifying verify: (Submission, _ verifiedAs: EvidenceKind?) async throws(VerificationError) -> VerifiedEvidence
  ) async throws -> PreparedEvidence {
    let digest = EvidenceDigest(submission.evidence)
    let known = try knownEvidence([digest.sha256])[0]
      .flatMap { submission.trusts($0.kind) ? $0 : nil }
    let result: Result<VerifiedEvidence, VerificationError>
    do { result = .success(try await verify(submission, known?.kind)) } catch {
      result = submission.keeps(error).map { .success($0) } ?? .failure(error)
    }
    return PreparedEvidence(submission, result, digest: digest, known: known)
  }

  /// Records a prepared piece: the last step.
  package func book(_ piece: PreparedEvidence) async throws -> Booking {
    try await commits.perform { recorder in
      var booking = try recorder.book(piece)
      booking.entitlements = try recorder.entitlements(of: booking.transactions)
      return booking
    }
  }

  /// Records a batch in one database transaction, together with the import's position if there is one.
  package func commit(
    _ batch: [(Submission, Result<VerifiedEvidence, VerificationError>)], progress: ImportPosition?
  ) throws -> [Booking] {
    try commit(batch.map { PreparedEvidence($0.0, $0.1) }, progress: progress)
  }

  /// Records a batch of pieces that were prepared on other threads.
  package func commit(_ pieces: [PreparedEvidence], progress: ImportPosition?) throws -> [Booking] {
    try write { recorder in
      var bookings: [Booking] = []
      bookings.reserveCapacity(pieces.count)
      for piece in pieces {
        bookings.append(try recorder.book(piece))
        // Bounds the rows that are joined in memory.
        if bookings.count % Self.rowsMax == 0 { try recorder.finish() }
      }
      for index in bookings.indices where pieces[index].submission.account != nil {
        bookings[index].entitlements = try recorder.entitlements(of: bookings[index].transactions)
      }
      if let progress { try recorder.record(progress) }
      return bookings
    }
  }

  /// The number of pieces after which their rows are written.
  private static let rowsMax = 8192

  /// Two primary-key reads. Evidence that was only pulled is not known, because no event says that it was verified.
  static let selectKnown = """
    SELECT e.kind FROM evidence AS e CROSS JOIN event AS v ON v.seq = e.event
    WHERE e.sha256 = ? AND e.outcome = 1 AND v.evidence = e.sha256 AND v.type IN \(EventType.list(EventType.vouching))
    """

  /// As which kind evidence with each SHA-256 was accepted before; nil if its signature was not verified then.
  ///
  /// Evidence of an unsigned kind is never known, because its sender chose its content. Evidence must be named by an
  /// event of the chain: a row of evidence alone could be inserted by anybody who can write to the file.
  package func knownEvidence(_ digests: [[UInt8]]) throws -> [KnownEvidence?] {
    try readStatement { db in
      let select = try db.cached(Self.selectKnown)
      return try digests.map { digest in
        select.bind(1, digest)
        return try select.first { row -> KnownEvidence? in
          guard let kind = EvidenceKind(rawValue: UInt8(truncatingIfNeeded: row.int64(0))), kind.isSigned else {
            return nil
          }
          return KnownEvidence(kind: kind, isBooked: kind.isWhole)
        } ?? nil
      }
    }
  }

  /// Records that a purchase is acknowledged to Google. Unknown transactions are ignored.
  public func recordAcknowledgement(_ key: TransactionKey) async throws {
    try await commits.perform { recorder in
      guard let row = RowKey(key), try recorder.projections.row(row) != nil else { return }
      try recorder.append(.acknowledgement(key))
    }
  }

  /// Records an audit event: what was done or tried, by whom and with what outcome. The texts must not contain personal
  /// data.
  ///
  /// - Parameters:
  ///   - occasion: Limits events that repeat: one a day (UTC) for each occasion across all processes, enforced by the
  ///     event's key. Nil records each one.
  ///   - note: The same, for what is recorded once for ever.
  package func recordAudit(
    kind: String, account: AccountID?, subject: String?, outcome: String, detail: String?,
    onceADay occasion: String? = nil, once note: String? = nil
  ) async throws {
    let day = note == nil ? clock.now() / 86_400_000 : -1
    let nonce = (note ?? occasion).map { AccountID(Self.nonce("\(kind) \(outcome)", account, $0, day: day)) }
    let content = EventContent.audit(
      kind: kind, account: account, subject: subject, outcome: outcome, detail: detail, nonce: nonce ?? .random())
    if nonce != nil {
      // An event that is recorded already neither waits for the write lock nor writes.
      let key = content.key(body: []).bytes
      let isKnown = try readStatement { db in
        let select = try db.cached("SELECT 1 FROM event WHERE key = ?")
        select.bind(1, key)
        return try select.first { _ in true } ?? false
      }
      if isKnown { return }
    }
    try await commits.perform { recorder in
      try recorder.append(content)
      return
    }
  }

  private static func nonce(_ what: String, _ account: AccountID?, _ occasion: String, day: Int64) -> UUID {
    // Lengths precede the texts, so that different occasions have different bytes.
    let parts = [what, account?.description ?? "", occasion, String(day)]
    let hash = SHA256.hash(data: Array(parts.map { "\($0.utf8.count) \($0)\n" }.joined().utf8))
    return hash.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// Checks whether the ledger can be written. A test commit is made only if the last commit failed.
  ///
  /// - Throws: `LedgerError` if its files are gone, the disk is full or fails, the database is damaged, or another
  ///   process does not let it be written.
  package func checkUse() throws {
    try files.check()
    guard commits.waitingSeconds < Self.lockSecondsMax else {
      throw LedgerError(
        .database, at: path, "another process holds its write lock, so that nothing can be recorded",
        remedy: "wait until that process is done, or end it")
    }
    // About the size of two commits.
    if let free = try? FileSystem.freeBytes(path), free < 1 << 20 {
      throw LedgerError(.database, at: path, "the disk is full", remedy: "free space")
    }
    guard commits.failure != nil else { return }
    try commits.probe()
  }
}

extension Ledger {
  /// Commits take milliseconds.
  private static let lockSecondsMax = 2.0
}

extension Submission {
  /// Whether bytes that were verified as a kind need not be verified again; they must be if they are submitted as
  /// another kind.
  func trusts(_ verified: EvidenceKind) -> Bool { kind == nil || kind == verified }

  /// A message of Apple's whose signature has a form that this version does not know, for the quarantine: Apple does
  /// not repeat it for ever, and a later version may read it. Nil for what is refused.
  fileprivate func keeps(_ refusal: VerificationError) -> VerifiedEvidence? {
    guard channel == .storeNotification, VerificationError.Code.ofForm.contains(refusal.code) else { return nil }
    return VerifiedEvidence(kind: .notification, store: .apple, environment: nil, quarantine: refusal)
  }
}

extension EvidenceRecorder {
  func entitlements(of transactions: [StoreTransaction]) throws -> [Entitlement] {
    try transactions.compactMap { fact in
      guard let key = RowKey(fact.key), let grant = try projections.row(key)?.grant,
        let row = try projections.entitlement(of: grant)
      else { return nil }
      let account = try row.account.flatMap { try projections.accounts.account(number: $0) }
      return Entitlement(row, account: account.map { AccountID($0.id) }, at: now)
    }
  }
}

// MARK: - Positions of imports

/// A command's position in its input, stored in the same transaction as the records up to it.
package struct ImportPosition: Sendable, Hashable {
  package var run: Int64
  /// What the command needs to continue from here.
  package var position: String
  package var isFinished: Bool

  package init(run: Int64, position: String, isFinished: Bool) {
    self.run = run
    self.position = position
    self.isFinished = isFinished
  }
}

extension Ledger {
  /// Starts a run, or resumes the latest unfinished one of the same command and input.
  ///
  /// - Returns: The run's position, which is empty for a new run.
  package func startRun(of command: String, input: String) throws -> ImportPosition {
    try write { recorder in
      let select = try recorder.db.cached(
        """
        SELECT run, position FROM progress WHERE command = ? AND input = ? AND finished_at IS NULL
        ORDER BY run DESC LIMIT 1
        """)
      select.bind(1, command)
      select.bind(2, input)
      if let known = try select.first({
        ImportPosition(run: $0.int64(0), position: $0.text(1), isFinished: false)
      }) {
        return known
      }
      let insert = try recorder.db.cached(
        "INSERT INTO progress (command, input, position, started_at) VALUES (?, ?, '', ?)")
      insert.bind(1, command)
      insert.bind(2, input)
      insert.bind(3, recorder.now)
      try insert.run()
      return ImportPosition(run: recorder.db.lastInsertedRowID, position: "", isFinished: false)
    }
  }
}

extension EvidenceRecorder {
  func record(_ progress: ImportPosition) throws {
    let update = try db.cached("UPDATE progress SET position = ?, finished_at = ? WHERE run = ?")
    update.bind(1, progress.position)
    update.bind(2, progress.isFinished ? now : nil)
    update.bind(3, progress.run)
    try update.run()
  }
}
