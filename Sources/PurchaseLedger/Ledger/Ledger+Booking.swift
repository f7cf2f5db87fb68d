import Crypto
import Foundation
import GRDB

extension Ledger {
  /// Verifies, books, commits, then answers. Concurrent calls share commits.
  ///
  /// - Throws: `LedgerError` when the ledger cannot be written; evidence that is not accepted is an outcome, not an error.
  public func book(_ submission: Submission, with verifier: EvidenceVerifier) async throws -> Booking {
    let now = clock.now()
    return try await book(submission) { (submission, verifiedAs) async throws(Refusal) in
      try await verifier.verify(
        submission.evidence, as: verifiedAs ?? submission.kind, context: submission.context, at: now,
        trusted: verifiedAs != nil)
    }
  }

  /// The same with whatever verifies.
  ///
  /// - Parameter verify: Verifies the submission; the second argument is the kind as which the very bytes were accepted before, so that
  ///   their signatures need not be checked again when they are read as that kind.
  /// - Throws: `LedgerError` when the ledger cannot be written; evidence that is not accepted is an outcome, not an error.
  package func book(
    _ submission: Submission,
    verifying verify: (Submission, _ verifiedAs: EvidenceKind?) async throws(Refusal) -> VerifiedEvidence
  ) async throws -> Booking {
    let digest = EvidenceDigest(submission.evidence)
    let known = try knownEvidence([digest.sha256])[0]
      .flatMap { submission.trusts($0.kind) ? $0 : nil }
    let result: Result<VerifiedEvidence, Refusal>
    do { result = .success(try await verify(submission, known?.kind)) } catch { result = .failure(error) }
    let piece = PreparedPiece(submission, result, digest: digest, known: known)
    return try await commits.perform { booker in
      var booking = try booker.book(piece)
      booking.entitlements = try booker.entitlements(of: booking.transactions)
      return booking
    }
  }

  /// Books a batch in one transaction of the database, together with how far the import came; nil keeps no account of that.
  package func commit(
    _ batch: [(Submission, Result<VerifiedEvidence, Refusal>)], progress: ImportPosition?
  ) throws -> [Booking] {
    try commit(batch.map { PreparedPiece($0.0, $0.1) }, progress: progress)
  }

  /// The same for pieces that were prepared on other threads.
  package func commit(_ pieces: [PreparedPiece], progress: ImportPosition?) throws -> [Booking] {
    try write { booker in
      var bookings: [Booking] = []
      bookings.reserveCapacity(pieces.count)
      for piece in pieces {
        bookings.append(try booker.book(piece))
        // Rows are joined in memory: of a large batch only so many at a time.
        if bookings.count % Self.rowsMax == 0 { try booker.finish() }
      }
      for index in bookings.indices where pieces[index].submission.account != nil {
        bookings[index].entitlements = try booker.entitlements(of: bookings[index].transactions)
      }
      if let progress { try booker.record(progress) }
      return bookings
    }
  }

  /// Pieces of a batch that are joined in memory before their rows are written.
  private static let rowsMax = 8192

  /// One row of each table by its key. What was only pulled is not known: no event says that it was verified.
  static let selectKnown = """
    SELECT e.kind FROM evidence AS e CROSS JOIN event AS v ON v.seq = e.event
    WHERE e.sha256 = ? AND e.outcome = 1 AND v.evidence = e.sha256 AND v.type IN \(EventType.list(EventType.vouching))
    """

  /// As what evidence with each SHA-256 was accepted before, where its signature was verified then; nil for all other bytes. Bytes that were
  /// accepted as a kind without signature are as unverified as any: a hint may hold whatever its sender liked. Only what an event of the chain names is
  /// known: a row of evidence alone can be put into the file by whoever writes to it.
  package func knownEvidence(_ digests: [[UInt8]]) throws -> [KnownEvidence?] {
    try readStatement { db in
      let select = try SQLStatement(db, Self.selectKnown)
      return try digests.map { digest in
        select.bind(1, digest)
        return try select.first { row -> KnownEvidence? in
          guard let kind = EvidenceKind(rawValue: UInt8(truncatingIfNeeded: row.int(0))), kind.isSigned else {
            return nil
          }
          return KnownEvidence(kind: kind, isBooked: kind.isWhole)
        } ?? nil
      }
    }
  }

  /// Records that Google was told, or already knew, that a purchase arrived. A transaction that is not known is left alone.
  public func recordAcknowledgement(_ key: TransactionKey) async throws {
    try await commits.perform { booker in
      guard let row = RowKey(key), try booker.projections.row(row) != nil else { return }
      try booker.append(.acknowledgement(key))
    }
  }

  /// Notes that something was done or tried, by whom and with what outcome: nothing personal may stand in the texts.
  ///
  /// - Parameter occasion: what may be repeated without end is noted once a day (UTC) for each occasion, whichever process does it: the event's key says so. Nil notes each time.
  public func recordAudit(
    kind: String, account: AccountID?, subject: String?, outcome: String, detail: String?,
    onceADay occasion: String? = nil
  ) async throws {
    let nonce = occasion.map { AccountID(Self.nonce("\(kind) \(outcome)", account, $0, day: clock.now() / 86_400_000)) }
    let content = EventContent.audit(
      kind: kind, account: account, subject: subject, outcome: outcome, detail: detail, nonce: nonce ?? .random())
    if nonce != nil {
      // Known ones neither wait for the lock nor write.
      let key = content.key(body: []).bytes
      let isKnown = try readStatement { db in
        let select = try SQLStatement(db, "SELECT 1 FROM event WHERE key = ?")
        select.bind(1, key)
        return try select.first { _ in true } ?? false
      }
      if isKnown { return }
    }
    try await commits.perform { booker in
      try booker.append(content)
      return
    }
  }

  private static func nonce(_ what: String, _ account: AccountID?, _ occasion: String, day: Int64) -> UUID {
    // Lengths before texts: no two occasions have the same bytes.
    let parts = [what, account?.description ?? "", occasion, String(day)]
    let hash = SHA256.hash(data: Array(parts.map { "\($0.utf8.count) \($0)\n" }.joined().utf8))
    return hash.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// Looks whether the ledger can be written now. What cannot be told without writing is tried only after a commit has failed.
  ///
  /// - Throws: `LedgerError`: its files are gone, the disk is full or refuses, the database is damaged.
  package func checkUse() throws {
    try files.check()
    var info = statvfs()
    // What a commit or two take. Some file systems have no size.
    if statvfs(path, &info) == 0, info.f_blocks > 0, UInt64(info.f_bavail) * UInt64(info.f_frsize) < 1 << 20 {
      throw LedgerError(.database, at: path, "the disk is full; make room")
    }
    guard commits.failure != nil else { return }
    try commits.probe()
  }
}

extension Submission {
  /// Whether bytes that were verified as this kind need not be verified again: not when they are to be read as another.
  func trusts(_ verified: EvidenceKind) -> Bool { kind == nil || kind == verified }
}

extension Booker {
  func entitlements(of transactions: [StoreTransaction]) throws -> [Entitlement] {
    try transactions.compactMap { fact in
      guard let key = RowKey(fact.key), let grant = try projections.row(key)?.grant,
        let row = try projections.entitlement(of: grant)
      else { return nil }
      let account = try row.account.flatMap { try projections.accounts.account(number: $0) }
      return Entitlement(row, account: account.map { AccountID($0.id) })
    }
  }
}
