import Support

/// Judges quarantined evidence again whose reason may be gone by itself: it was signed in the future of a clock that is
/// right by now, the store had no answer, or this version reads a form that an earlier one did not.
///
/// The account and the options of the first submission are not stored, as for `import --quarantined`; an app presents
/// its purchase again until it may finish it.
package struct QuarantineReview {
  private let ledger: Ledger
  private let verifier: EvidenceVerifier

  /// A run judges so many pieces; the next one goes on behind them.
  package static let piecesMax = 500
  private static let cursor = "quarantine.reviewed"

  private let piecesMax: Int

  package init(_ ledger: Ledger, verifier: EvidenceVerifier, piecesMax: Int = piecesMax) {
    (self.ledger, self.verifier, self.piecesMax) = (ledger, verifier, piecesMax)
  }

  /// - Returns: How many pieces have left the quarantine.
  package func run() async throws -> Int {
    let environment = try ledger.policy.environment
    let last = try ledger.readStatement { try Snapshot.cursor(Self.cursor, $0) }.flatMap { Int64($0.value) } ?? 0
    let pieces = try waiting(after: last)
    var released = 0
    for piece in pieces {
      let submission = Submission(
        evidence: piece.bytes, kind: piece.kind, context: EvidenceContext(environment: environment),
        channel: .operatorImport)
      let booking = try await ledger.book(submission, with: verifier)
      if [.accepted, .duplicate].contains(booking.outcome) { released += 1 }
    }
    // Behind the last piece the next run begins with the first.
    let next = pieces.count < piecesMax ? 0 : pieces.last?.number ?? 0
    if next != last { try await ledger.commits.perform { try $0.setCursor(Self.cursor, to: "\(next)") } }
    return released
  }

  private func waiting(after last: Int64) throws -> [(number: Int64, kind: EvidenceKind?, bytes: [UInt8])] {
    let reasons = ([.signedInFuture] + VerificationError.Code.ofForm).map { "'\($0.rawValue)'" }
    return try ledger.readStatement { db in
      let select = try db.cached(
        """
        SELECT e.id, e.kind, p.bytes, e.bytes FROM \(EvidenceRow.source)
        WHERE e.outcome = 2 AND e.id > ? AND e.reason IN (\(reasons.joined(separator: ", "))) ORDER BY e.id
        LIMIT \(piecesMax)
        """)
      select.bind(1, last)
      return try select.all { row in
        (
          row.int64(0), EvidenceKind(rawValue: UInt8(truncatingIfNeeded: row.int64(1))),
          (row.optionalBlob(2) ?? []) + row.blob(3)
        )
      }
    }
  }
}
