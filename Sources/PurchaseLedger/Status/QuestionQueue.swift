import Support

/// What waits for the stores: what `purchase-ledger queue` prints.
package struct QuestionQueue: Sendable {
  /// One question, and what is known of it. Times are milliseconds since 1970.
  package struct Item: Sendable, Hashable {
    package enum Kind: String, Sendable, CaseIterable {
      /// A purchase that Google refunds unless it is acknowledged in time.
      case acknowledgement
      /// A question that a message, a bare token or `reconcile` asks for.
      case question
      /// A purchase that counts although the store has said nothing about it.
      case unconfirmed
      /// Another question that failed: a customer's history or refunds, a list.
      case failed
      /// A store asks about a refund; it decides without an answer after the deadline.
      case refund
    }

    package var kind: Kind
    package var key: TransactionKey
    package var productID: String?
    /// When it was bought, or asked for.
    package var since: Int64
    /// Of an acknowledgement, or of a question about a refund.
    package var deadline: Int64?
    /// How it failed; nil if it has not been asked yet.
    package var failure: FailedQuestion?
  }

  package var items: [Item] = []
  package var now: Int64 = 0

  /// Google refunds what is not acknowledged within three days.
  static func deadline(ofPurchaseAt time: Int64) -> Int64 { time + 3 * 86_400_000 }

  /// Whether something failed, or has to be acknowledged within a day.
  package var needsPerson: Bool { items.contains { $0.failure != nil || isDue($0) } }

  func isDue(_ item: Item) -> Bool {
    item.kind == .acknowledgement && item.deadline.map { $0 - now < StatusLimits.acknowledgementLeft } ?? false
  }
}

extension Ledger {
  /// All that waits for the stores, in this order: questions about refunds and acknowledgements, sorted by deadline,
  /// then questions, unconfirmed purchases and other questions that failed.
  package func queue() throws -> QuestionQueue {
    let environment = try policy.environment
    return try read { db in
      var queue = QuestionQueue()
      queue.now = clock.now()
      var failures: [FailedQuestion.Kind: [TransactionKey: FailedQuestion]] = [:]
      for failure in try FailedQuestion.all(db) { failures[failure.kind, default: [:]][failure.key] = failure }
      func add(_ kind: QuestionQueue.Item.Kind, _ question: StoreQuestion, _ failedAs: [FailedQuestion.Kind]) {
        let failed = failedAs.compactMap { failures[$0]?.removeValue(forKey: question.key) }.first
        let deadline = kind == .acknowledgement ? QuestionQueue.deadline(ofPurchaseAt: question.since) : nil
        let product = question.hint.productID.flatMap { $0.isEmpty ? nil : $0 }
        queue.items.append(
          .init(
            kind: kind, key: question.key, productID: product, since: question.since, deadline: deadline,
            failure: failed))
      }
      for question in try RefundQuestion.open(db, at: clock.now()) {
        queue.items.append(.init(kind: .refund, key: question.key, since: question.askedAt, deadline: question.dueAt))
      }
      for question in try StoreQuestion.unacknowledged(db) { add(.acknowledgement, question, [.acknowledgement]) }
      let lookups = try StoreQuestion.lookups(db)
      for question in lookups {
        add(question.isUnconfirmed ? .unconfirmed : .question, question, [.purchase, .history, .refunds])
      }
      let asked = Set(lookups.map(\.key))
      for question in try StoreQuestion.unconfirmed(db, in: environment) where !asked.contains(question.key) {
        add(.unconfirmed, question, [.purchase])
      }
      for failure in failures.values.flatMap(\.values).sorted(by: { $0.firstAt < $1.firstAt }) {
        queue.items.append(.init(kind: .failed, key: failure.key, since: failure.firstAt, failure: failure))
      }
      return queue
    }
  }

  /// Makes questions that failed due, so that the next pull asks them again.
  ///
  /// - Returns: How many there are.
  package func retryFailures() throws -> Int {
    try write { recorder in
      try recorder.db.cached("UPDATE failed_question SET attempts = 0, next_at = last_at").run()
      return try FailedQuestion.all(recorder.db).count
    }
  }

  /// Drops a question, with the accounts that wait for its answer.
  ///
  /// - Throws: `LedgerError` if there is no such question.
  package func dropQuestion(_ id: String) throws {
    try write { recorder in
      let keys = Set(
        try StoreQuestion.lookups(recorder.db).map(\.key) + FailedQuestion.all(recorder.db).map(\.key)
      ).filter { $0.id == id }
      guard !keys.isEmpty else {
        throw LedgerError(
          .input, at: id, "no question about it waits or has failed", remedy: "queue lists what there is")
      }
      for key in keys.compactMap({ RowKey($0) }) { try recorder.lookups().drop(key) }
    }
  }
}

// MARK: - Text and JSON

extension QuestionQueue {
  /// For people: a line for each item.
  package var text: String {
    let lines = items.map { item in
      var parts = ["\(item.kind.rawValue)  \(item.key.store.rawValue) \(item.key.id)"]
      if let product = item.productID { parts.append(product.withoutControls) }
      var notes = ["since \(TimeText.minute(item.since))"]
      if let deadline = item.deadline {
        notes.append("\(deadline < now ? "overdue since" : "due by") \(TimeText.minute(deadline))")
      }
      if let failure = item.failure {
        let next = failure.nextAt.map { "next try \(TimeText.minute($0))" } ?? "given up"
        notes.append(
          "\(failure.kind.name) failed \(failure.attempts) times, \(next): \(failure.reason.withoutControls)")
      }
      return (parts + [notes.joined(separator: ", ")]).joined(separator: "  ")
    }
    return (lines + [summary]).joined(separator: "\n")
  }

  private var summary: String {
    let counts = Item.Kind.allCases.map { kind in items.count { $0.kind == kind } }
    return "\(counts[0]) to acknowledge, \(counts[1]) questions, \(counts[2]) unconfirmed, \(counts[4]) refunds, "
      + "\(items.count { $0.failure != nil }) failed"
  }

  /// One object a line.
  package var json: [JSONValue] {
    func time(_ value: Int64?) -> JSONValue { .init(value.map(TimeText.rfc3339)) }
    return items.map { item in
      .object([
        .init("what", .string(item.kind.rawValue)), .init("store", .string(item.key.store.rawValue)),
        .init("environment", .string(item.key.environment.rawValue)), .init("transactionId", .string(item.key.id)),
        .init("productId", .init(item.productID)), .init("since", time(item.since)),
        .init("deadline", time(item.deadline)), .init("due", .bool(isDue(item))),
        .init("question", .init(item.failure?.kind.name)),
        .init("attempts", .init(item.failure?.attempts ?? 0)), .init("lastTry", time(item.failure?.lastAt)),
        .init("nextTry", time(item.failure?.nextAt)), .init("reason", .init(item.failure?.reason)),
      ])
    }
  }
}
