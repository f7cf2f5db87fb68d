import Support

/// A question to a store: about which transaction, and what the store needs to find it.
package struct StoreQuestion: Sendable, Hashable {
  package var hint: LookupHint
  /// Whether the product is a subscription, which Google keeps at another address.
  package var isSubscription = false
  /// When the question came up: of a purchase that waits for acknowledgement when it was bought.
  package var since: Int64
  /// When the purchase was bought; nil if it is not recorded.
  var bought: Int64?
  /// Whether its transaction is recorded.
  package var isKnown = true
  /// Whether it is recorded, and the store has said nothing about it.
  var isUnconfirmed = false

  package var key: TransactionKey { hint.key }
  /// Whether it is about one of several products of a Google order (`StoreTransaction.split`).
  var isOfSeveral: Bool { key.store == .google && key.id.contains("/") }
  /// The Google order that it is about, without the product.
  var order: String { String(key.id.prefix { $0 != "/" }) }
}

extension StoreQuestion {
  /// Reads store, environment, id, product, token, product type and time.
  fileprivate init(_ row: SQLiteStatement) {
    let key = RowKey(row)
    hint = LookupHint(key: key.transactionKey, productID: row.optionalText(3), purchaseToken: row.optionalText(4))
    isSubscription = row.optionalText(5).map { ProductType(rawValue: $0).isSubscription } ?? false
    since = row.int64(6)
    bought = since
  }

  private static let columns =
    "t.store, t.environment, t.transaction_id, t.product_id, t.purchase_token, t.product_type"

  /// Google's purchases that are not acknowledged, the oldest first.
  static func unacknowledged(_ db: SQLiteConnection, boughtUntil time: Int64 = .max) throws -> [StoreQuestion] {
    let select = try db.cached(
      """
      SELECT \(columns), t.purchase_date FROM store_transaction AS t
      WHERE \(LedgerSchema.isUnacknowledged) AND purchase_date <= ? ORDER BY purchase_date
      """)
    select.bind(1, time)
    return try select.all(StoreQuestion.init)
  }

  /// The questions that unsigned messages, bare tokens and reconciliation request, completed from the recorded
  /// purchase. In the order in which to send them: the ledger's own first, those about unknown transactions last.
  static func lookups(_ db: SQLiteConnection) throws -> [StoreQuestion] {
    try db.cached(
      """
      SELECT l.store, l.environment, l.transaction_id, coalesce(l.product_id, nullif(t.product_id, '')),
        coalesce(l.purchase_token, t.purchase_token), t.product_type, l.asked_at, t.purchase_date,
        NOT EXISTS (SELECT 1 FROM store_snapshot AS s WHERE s.store = l.store AND s.environment = l.environment
          AND s.transaction_id = l.transaction_id)
      FROM lookup AS l LEFT JOIN store_transaction AS t USING (store, environment, transaction_id)
      ORDER BY l.rank, l.asked_at, l.store, l.environment, l.transaction_id
      """
    ).all { row in
      var question = StoreQuestion(row)
      question.bought = row.optionalInt64(7)
      question.isKnown = question.bought != nil
      question.isUnconfirmed = question.isKnown && row.int64(8) != 0
      return question
    }
  }

  /// Google's purchases that a device submitted and about which the store has said nothing, the newest first. They
  /// count meanwhile, because their signature is Google's; they may have been refunded since. Subscriptions are not
  /// asked about.
  ///
  /// - Complexity: O(Google's purchases): two ordered tables are compared, and nothing is written when a purchase is
  ///   recorded.
  static func unconfirmed(_ db: SQLiteConnection, in environment: StoreEnvironment) throws -> [StoreQuestion] {
    let select = try db.cached(
      """
      SELECT \(columns), t.purchase_date FROM store_transaction AS t
      WHERE t.store = 2 AND t.environment = ?1 AND t.trust = 1 AND t.statement <> 2 AND t.purchase_token IS NOT NULL
        AND t.product_id <> '' AND t.product_type NOT LIKE '%Subscription'
        AND NOT EXISTS (SELECT 1 FROM store_snapshot AS s
          WHERE s.store = 2 AND s.environment IN (1, 2) AND s.transaction_id = t.transaction_id)
        AND NOT (t.transaction_id = t.purchase_token AND EXISTS (SELECT 1 FROM store_transaction AS o
          WHERE (o.store = 2 AND o.transaction_id <> o.purchase_token) = 1 AND o.environment = ?1
            AND substr(o.purchase_token, -12) = substr(t.transaction_id, -12)
            AND +o.purchase_token = t.transaction_id))
      ORDER BY t.purchase_date DESC, t.transaction_id
      """)
    select.bind(1, environment.code ?? 0)
    return try select.all(StoreQuestion.init)
  }

  /// Google's purchases that were paid for, that the store has confirmed, and whose price nobody has stated, the newest
  /// first.
  ///
  /// - Complexity: O(Google's purchases).
  static func unpriced(_ db: SQLiteConnection, in environment: StoreEnvironment, limit: Int) throws -> [StoreQuestion] {
    let select = try db.cached(
      """
      SELECT \(columns), t.purchase_date FROM store_transaction AS t
      WHERE t.store = 2 AND t.environment = ?1 AND t.price_milli IS NULL AND t.statement <> 0
        AND t.transaction_id <> coalesce(t.purchase_token, '') AND t.reason NOT IN ('PROMOTION', 'REWARDED')
        AND EXISTS (SELECT 1 FROM store_snapshot AS s
          WHERE s.store = 2 AND s.environment = ?1 AND s.transaction_id = t.transaction_id)
      ORDER BY t.purchase_date DESC, t.transaction_id LIMIT ?2
      """)
    select.bind(1, environment.code ?? 0)
    select.bind(2, Int64(limit))
    return try select.all(StoreQuestion.init)
  }

  /// The other products of a Google order that is named whole, as the list of voided purchases does.
  static func others(of order: RowKey, _ db: SQLiteConnection) throws -> [StoreQuestion] {
    let select = try db.cached(
      """
      SELECT \(columns), t.purchase_date FROM store_transaction AS t
      WHERE t.store = ?1 AND t.environment = ?2 AND t.transaction_id > ?3 || '/' AND t.transaction_id < ?3 || '0'
      """)
    select.bind(1, order)
    return try select.all(StoreQuestion.init)
  }

  /// Every Google purchase with what a question needs, in the order of the ids; revoked ones too, because Google's
  /// voided list covers only 30 days.
  static func purchases(_ db: SQLiteConnection, in environment: StoreEnvironment) throws -> [StoreQuestion] {
    let select = try db.cached(
      """
      SELECT \(columns), t.purchase_date FROM store_transaction AS t
      WHERE t.store = 2 AND t.environment = ? AND t.purchase_token IS NOT NULL ORDER BY t.transaction_id
      """)
    select.bind(1, environment.code ?? 0)
    return try select.all(StoreQuestion.init)
  }

  /// The apps beside the first one of each store, by store.
  static func otherApps(_ db: SQLiteConnection) throws -> [(store: Store, app: String)] {
    try db.cached("SELECT DISTINCT store, value FROM trait WHERE name = 'app' ORDER BY 1, 2").all { row in
      Store(code: UInt8(truncatingIfNeeded: row.int64(0))).map { ($0, row.text(1)) }
    }.compactMap(\.self)
  }

  /// The app of a question's transaction, or of its copies.
  ///
  /// - Returns: Nil for the ledger's first app; the second value is false for a transaction that is not recorded.
  static func app(of key: TransactionKey, _ db: SQLiteConnection) throws -> (app: String?, isKnown: Bool) {
    guard let key = RowKey(key) else { return (nil, false) }
    let app = """
      SELECT (SELECT value FROM trait AS t WHERE t.store = s.store AND t.environment = s.environment
        AND t.transaction_id = s.transaction_id AND t.name = 'app')
      FROM store_transaction AS s WHERE s.store = ?1 AND s.environment = ?2
      """
    let select = try db.cached(
      """
      \(app) AND s.transaction_id = ?3
      UNION ALL \(app) AND s.original_id = ?3 AND s.transaction_id <> s.original_id ORDER BY 1 DESC LIMIT 1
      """)
    select.bind(1, key)
    return try select.first { ($0.optionalText(0), true) } ?? (nil, false)
  }

  /// One transaction of each known customer of a store, in the order of the ids: the history of one transaction is the
  /// customer's whole history.
  ///
  /// An account counts as one customer of each app; a grant without owner counts as a customer of its own.
  static func customers(
    _ db: SQLiteConnection, of store: Store, in environment: StoreEnvironment
  ) throws -> [StoreQuestion] {
    let select = try db.cached(
      """
      SELECT min(original_id) AS id FROM entitlement AS e
      LEFT JOIN trait AS t ON t.store = ?1 AND t.environment = ?2 AND t.transaction_id = e.original_id AND t.name = 'app'
      WHERE e.store = ?1 AND e.environment = ?2 AND e.account IS NOT NULL AND instr(original_id, ':') = 0
      GROUP BY account, t.value
      UNION ALL SELECT original_id FROM entitlement WHERE store = ?1 AND environment = ?2 AND account IS NULL
        AND instr(original_id, ':') = 0
      ORDER BY id
      """)
    select.bind(1, store.code)
    select.bind(2, environment.code ?? 0)
    return try select.all { row in
      let key = TransactionKey(store: store, environment: environment, id: row.text(0))
      return StoreQuestion(hint: LookupHint(key: key, productID: nil, purchaseToken: nil), since: 0)
    }
  }
}

extension Ledger {
  /// Google purchases older than `milliseconds` that are not acknowledged; Google refunds them after three days.
  public func unacknowledged(olderThan milliseconds: Int64) throws -> [LookupHint] {
    try readStatement { try StoreQuestion.unacknowledged($0, boughtUntil: clock.now() - milliseconds).map(\.hint) }
  }

  /// The questions that wait for the next pull, in the order in which to send them.
  package func lookups() throws -> [LookupHint] { try readStatement { try StoreQuestion.lookups($0).map(\.hint) } }
}
