import Support

/// A store's question about a refund that a customer asked for: it may be answered for some hours, and is decided
/// without an answer.
package struct RefundQuestion: Sendable, Hashable {
  /// The store's id of its message.
  package var uuid: String
  package var key: TransactionKey
  /// Milliseconds since 1970, as all times.
  package var askedAt: Int64
  package var dueAt: Int64

  /// How long each store takes an answer: Apple 12 hours, Google 24.
  private static func hours(_ type: String) -> Int64? {
    switch type {
    case "CONSUMPTION_REQUEST": 12
    case "pendingRefundReviewNotification": 24
    default: nil
    }
  }

  /// Nil for a notification of something else.
  init?(_ fact: NotificationFact) {
    guard let hours = Self.hours(fact.type), let key = fact.transaction, RowKey(key) != nil else { return nil }
    self.init(
      uuid: fact.uuid, key: key, askedAt: fact.signedDate,
      dueAt: fact.signedDate.addingReportingOverflow(hours * 3_600_000).partialValue)
  }

  init(uuid: String, key: TransactionKey, askedAt: Int64, dueAt: Int64) {
    (self.uuid, self.key, self.askedAt, self.dueAt) = (uuid, key, askedAt, dueAt)
  }

  // MARK: Storage

  func insert(into db: SQLiteConnection) throws {
    guard let key = RowKey(key) else { return }
    let insert = try db.cached(
      """
      INSERT OR IGNORE INTO refund_question (store, environment, transaction_id, uuid, asked_at, due_at)
      VALUES (?, ?, ?, ?, ?, ?)
      """)
    insert.bind(1, key)
    insert.bind(4, uuid)
    insert.bind(5, askedAt)
    insert.bind(6, dueAt)
    try insert.run()
  }

  /// Reads the questions out of the events of an earlier version of the file.
  static func fold(_ db: SQLiteConnection, _ path: String) throws {
    let select = try db.cached(
      "SELECT \(LedgerEvent.columns) FROM event WHERE type = \(EventType.notification.rawValue) ORDER BY seq")
    for event in try select.all({ try? LedgerEvent($0, in: path) }) {
      if case .notification(let fact)? = event?.content { try RefundQuestion(fact)?.insert(into: db) }
    }
  }

  static func answer(_ uuid: String, seq: Int64, in db: SQLiteConnection) throws {
    let update = try db.cached("UPDATE refund_question SET answered = ? WHERE uuid = ? AND answered IS NULL")
    update.bind(1, seq)
    update.bind(2, uuid)
    try update.run()
  }

  /// The questions that may still be answered, the one due first first: neither answered, nor late, nor about what is
  /// refunded meanwhile.
  static func open(_ db: SQLiteConnection, at now: Int64) throws -> [RefundQuestion] {
    let select = try db.cached(
      """
      SELECT q.store, q.environment, q.transaction_id, q.uuid, q.asked_at, q.due_at FROM refund_question AS q
      LEFT JOIN store_transaction AS t USING (store, environment, transaction_id)
      WHERE q.answered IS NULL AND q.due_at > ? AND coalesce(t.statement, 1) <> 2 ORDER BY q.due_at, q.uuid
      """)
    select.bind(1, now)
    return try select.all {
      RefundQuestion(
        uuid: $0.text(3), key: RowKey($0).transactionKey, askedAt: $0.int64(4), dueAt: $0.int64(5))
    }
  }
}
