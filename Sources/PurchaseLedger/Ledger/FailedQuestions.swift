import Support

/// A question to a store that got no answer. It is asked again by later pulls, less and less often, up to a limit.
package struct FailedQuestion: Sendable, Hashable {
  /// What was asked. The integers are stored in the database: never renumber.
  package enum Kind: UInt8, Sendable, CaseIterable {
    /// A customer's transactions (Apple).
    case history = 1
    /// A customer's refunds (Apple).
    case refunds = 2
    /// The state of a purchase (Google).
    case purchase = 3
    /// That a purchase is acknowledged (Google).
    case acknowledgement = 4
    /// The store's list of changes.
    case list = 5
    /// What was paid for a purchase (Google).
    case order = 6

    package var name: String { "\(self)" }
  }

  package var kind: Kind
  /// The transaction; for a list the name of its cursor.
  package var key: TransactionKey
  package var attempts = 0
  /// Milliseconds since 1970, as all times.
  package var firstAt: Int64
  package var lastAt: Int64
  /// When it is asked again; nil if it is given up.
  package var nextAt: Int64?
  package var reason: String
  /// Whether its transaction is recorded.
  package var isKnown = true
  /// Whether the last answer was that the store does not know the subject.
  private(set) var isUnknown = false

  /// The waits before the next attempts, in milliseconds: ten minutes, an hour, six hours, then nearly a day, so that a
  /// nightly pull that is a little early asks.
  private static let waits: [Int64] = [600_000, 3_600_000, 21_600_000, 72_000_000]

  /// The question after another failure.
  ///
  /// - Parameter limit: It is given up after so many.
  mutating func fail(at now: Int64, because reason: String, isUnknown: Bool, limit: Int) {
    attempts += 1
    lastAt = now
    self.reason = reason
    self.isUnknown = isUnknown
    let wait = Self.waits[min(attempts, Self.waits.count) - 1]
    nextAt = attempts >= limit ? nil : now + wait
  }

  /// Whether a pull asks it again. A clock that was ahead does not put it off.
  func isDue(at now: Int64) -> Bool {
    guard let nextAt else { return false }
    return nextAt <= now || lastAt > now
  }
}

extension EvidenceRecorder {
  func write(_ question: FailedQuestion) throws {
    guard let key = RowKey(question.key) else { return }
    let upsert = try db.cached(
      """
      INSERT INTO failed_question (store, environment, id, kind, attempts, first_at, last_at, next_at, reason)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (store, environment, kind, id) DO UPDATE SET attempts = excluded.attempts,
        last_at = excluded.last_at, next_at = excluded.next_at, reason = excluded.reason
      """)
    upsert.bind(1, key)
    upsert.bind(4, question.kind.rawValue)
    upsert.bind(5, Int64(question.attempts))
    upsert.bind(6, question.firstAt)
    upsert.bind(7, question.lastAt)
    upsert.bind(8, question.nextAt)
    upsert.bind(9, question.reason)
    try upsert.run()
  }

  /// - Parameter kind: Nil removes questions of every kind.
  func removeFailure(of kind: FailedQuestion.Kind?, _ key: RowKey) throws {
    let delete = try db.cached(
      "DELETE FROM failed_question WHERE store = ? AND environment = ? AND id = ? AND kind = coalesce(?, kind)")
    delete.bind(1, key)
    delete.bind(4, kind.map { Int64($0.rawValue) })
    try delete.run()
  }
}

extension Ledger {
  /// The questions that failed, in the order of their keys.
  package func failedQuestions() throws -> [FailedQuestion] { try readStatement(FailedQuestion.all) }
}

extension FailedQuestion {
  static func all(_ db: SQLiteConnection) throws -> [FailedQuestion] {
    // A file of version 3, which is only read, has no such table.
    guard try db.hasTable("failed_question") else { return [] }
    return try db.cached(
      """
      SELECT store, environment, id, kind, attempts, first_at, last_at, next_at, reason FROM failed_question
      ORDER BY store, environment, kind, id
      """
    ).all { row in
      FailedQuestion(
        kind: Kind(rawValue: UInt8(truncatingIfNeeded: row.int64(3))) ?? .purchase, key: RowKey(row).transactionKey,
        attempts: Int(row.int64(4)), firstAt: row.int64(5), lastAt: row.int64(6), nextAt: row.optionalInt64(7),
        reason: row.text(8))
    }
  }
}
