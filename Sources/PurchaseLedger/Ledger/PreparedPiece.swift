/// A submission with everything computed that does not need the database: digests, bodies, keys. Made outside the write lock.
///
/// A class, since batches of thousands are handed on and it has many fields to copy.
package final class PreparedPiece: Sendable {
  /// Without the evidence itself, which is `prefix` and `rest`: tens of thousands of pieces wait for a commit, and most of their bytes are one prefix.
  let submission: Submission
  let result: Result<VerifiedEvidence, Refusal>
  /// Of the evidence; empty when it was refused.
  let sha256: [UInt8]
  /// The header of a JWS, kept once for many.
  let prefix: [UInt8]
  /// The evidence behind the prefix; empty when nothing of it will be kept.
  let rest: [UInt8]
  let facts: [PreparedFact]
  /// What the evidence looked like, where it was refused.
  let refusedKind: EvidenceKind?
  /// Whether everything that the evidence says is in the book already, and nobody claims anything by it.
  let isBooked: Bool

  /// - Parameters:
  ///   - digest: Of the evidence, where it is known already.
  ///   - known: What the very bytes were accepted as before.
  /// - Complexity: O(bytes of the evidence).
  package init(
    _ submission: Submission, _ result: Result<VerifiedEvidence, Refusal>, digest: EvidenceDigest? = nil,
    known: KnownEvidence? = nil
  ) {
    var bytes = submission.evidence
    var digest = digest
    if case .success(let content) = result, content.kind == .notificationV1 {
      bytes = VersionOneSecret.blanked(bytes)
      digest = nil
    }
    var submission = submission
    submission.evidence = []
    self.submission = submission
    self.result = result
    refusedKind = if case .failure = result { submission.kind ?? EvidenceVerifier.detect(bytes) } else { nil }
    guard case .success(let content) = result else {
      (sha256, prefix, rest, facts, isBooked) = ([], [], [], [], false)
      return
    }
    let knownDigest = digest ?? EvidenceDigest(bytes)
    (sha256, prefix) = (knownDigest.sha256, knownDigest.prefix)
    isBooked = known?.isBooked == true && submission.account == nil && content.quarantine == nil
    if isBooked {
      (rest, facts) = ([], [])
      return
    }
    rest = prefix.isEmpty ? bytes : Array(bytes[prefix.count...])
    facts = content.transactions.compactMap {
      $0.environment.code == nil ? nil : PreparedFact($0, isKnown: known?.isBooked == true)
    }
  }
}

extension PreparedPiece {
  /// The evidence, of a piece that is not booked.
  package var evidence: [UInt8] { prefix + rest }
}

/// What is known of bytes whose signatures were verified before.
package struct KnownEvidence: Sendable, Hashable {
  package var kind: EvidenceKind
  /// Whether the commit that kept them booked all that they say; what was only pulled, or says something only together with what stands beside it, is
  /// booked like any other.
  package var isBooked: Bool
}

/// A fact with its event's body and key and its row's digest.
struct PreparedFact: Sendable {
  let transaction: StoreTransaction
  let row: TransactionRow
  /// Of the row; nil until somebody wants it.
  let digest: [UInt8]?
  let body: [UInt8]
  let key: EventKey

  init(_ transaction: StoreTransaction, isKnown: Bool = false) {
    self.transaction = transaction
    row = TransactionRow(transaction)
    digest = isKnown ? nil : row.digest
    var encoder = CanonicalEncoder()
    transaction.encodeBody(into: &encoder)
    body = encoder.bytes
    key = EventKey(type: .transaction, fields: body)
  }
}
