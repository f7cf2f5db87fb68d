import Support

extension Ledger {
  /// Evidence in quarantine.
  package struct Quarantined: Sendable, Hashable {
    package var sha256: [UInt8]
    /// A refusal's code: why it could not be believed.
    package var reason: String
    /// Milliseconds since 1970.
    package var receivedAt: Int64
  }

  /// What is in quarantine, in the order in which it came.
  package func quarantined() throws -> [Quarantined] {
    try readStatement { db in
      try SQLStatement(db, "SELECT sha256, reason, received_at FROM evidence WHERE outcome = 2 ORDER BY id").all {
        Quarantined(sha256: $0.blob(0), reason: $0.optionalText(1) ?? "", receivedAt: $0.int(2))
      }
    }
  }

  /// The bytes of what is in quarantine with their numbers, some at a time, behind a number. What stood beside them when they came is not kept.
  func quarantinedEvidence(after last: Int64) throws -> [(number: Int64, bytes: [UInt8])] {
    try readStatement { db in
      let select = try SQLStatement(
        db,
        """
        SELECT e.id, p.bytes, e.bytes FROM \(KeptEvidence.source)
        WHERE e.outcome = 2 AND e.id > ? ORDER BY e.id LIMIT 256
        """)
      select.bind(1, last)
      return try select.all { ($0.int(0), $0.blob(1) + $0.blob(2)) }
    }
  }

  /// Takes a piece off the list of what is in quarantine. Its bytes stay, an event says who decided; presented again it is judged anew.
  ///
  /// - Parameters:
  ///   - prefix: The first hexadecimal digits of its SHA-256, as reports print them.
  ///   - because: For whoever reads the history: nothing personal may stand in it.
  /// - Throws: `LedgerError` (`input`) when no piece in quarantine, or more than one, begins so.
  @discardableResult
  package func dismissEvidence(_ prefix: String, because: String) throws -> Quarantined {
    let matches = try quarantined().filter { $0.sha256.hexadecimal.hasPrefix(prefix.lowercased()) }
    guard let piece = matches.first, !prefix.isEmpty else {
      throw LedgerError(.input, at: prefix, "no evidence in quarantine begins so; `dismiss --list` shows what is there")
    }
    guard matches.count == 1 else {
      throw LedgerError(.input, at: prefix, "\(matches.count) pieces in quarantine begin so; give more digits")
    }
    try write { booker in
      try booker.evidence.dismiss(piece.sha256)
      try booker.append(
        .audit(
          kind: Booker.dismissed, account: nil, subject: piece.sha256.hexadecimal, outcome: piece.reason,
          detail: because, nonce: AccountID.random()))
    }
    return piece
  }
}
