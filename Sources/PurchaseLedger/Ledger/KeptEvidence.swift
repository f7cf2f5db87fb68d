/// A row of `evidence` with its prefix, as one file hands it to another.
struct KeptEvidence: Sendable {
  var sha256: [UInt8]
  var kind: Int64
  var outcome: Int64
  var reason: String?
  var prefix: [UInt8]
  var rest: [UInt8]
  /// Of what is in quarantine: the transactions it speaks of, as far as they are known.
  var names: [RowKey] = []
}

extension KeptEvidence {
  /// Evidence with its prefix: its bytes are `p.bytes`, then `e.bytes`.
  static let source = "evidence AS e LEFT JOIN evidence_prefix AS p ON p.id = e.prefix_id"

  static let select = """
    SELECT e.sha256, e.kind, e.outcome, e.reason, p.bytes, e.bytes FROM \(source) WHERE e.sha256 = ?
    """

  static let selectNames = "SELECT store, environment, transaction_id FROM quarantined_transaction WHERE evidence = ?"

  /// Reads a row of `select`.
  init(_ row: borrowing SQLStatement) {
    self.init(
      sha256: row.blob(0), kind: row.int(1), outcome: row.int(2), reason: row.optionalText(3),
      prefix: row.optionalBlob(4) ?? [], rest: row.blob(5))
  }
}
