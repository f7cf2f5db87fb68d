/// A submission with everything computed that does not need the database: digests, bodies, keys. Made outside the write lock.
///
/// A class, since batches of thousands are handed on and it has many fields to copy.
package final class PreparedPiece: Sendable {
  let submission: Submission
  let result: Result<VerifiedEvidence, Refusal>
  /// Of the evidence; empty when it was refused.
  let sha256: [UInt8]
  /// Bytes at the beginning that are the header of a JWS, kept once for many.
  let prefixCount: Int
  let facts: [PreparedFact]

  /// - Parameters:
  ///   - digest: Of the evidence, where it is known already.
  ///   - isKnown: Whether the very bytes were accepted before, so that hardly any of its facts will be new.
  /// - Complexity: O(bytes of the evidence).
  package init(
    _ submission: Submission, _ result: Result<VerifiedEvidence, Refusal>, digest: EvidenceDigest? = nil,
    isKnown: Bool = false
  ) {
    self.submission = submission
    self.result = result
    guard case .success(let content) = result else {
      sha256 = []
      prefixCount = 0
      facts = []
      return
    }
    let digest = digest ?? EvidenceDigest(submission.evidence)
    (sha256, prefixCount) = (digest.sha256, digest.prefixCount)
    facts = content.transactions.compactMap { $0.environment.code == nil ? nil : PreparedFact($0, isKnown: isKnown) }
  }
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

  /// What a refund that is not whole asks the policy.
  func decision(_ policy: LedgerPolicy) -> EventContent? {
    guard let revocation = transaction.revocation, !revocation.isWhole(of: transaction.quantity) else { return nil }
    return .decision(
      transaction.key, revocationDate: revocation.date,
      percentageMilli: revocation.sharedMilli(of: transaction.quantity), policy: "partial-refund",
      value: policy.partialRefund.rawValue)
  }
}
