import GRDB

/// Which of Google's purchases that are known by their token alone are known by an order id too: a pending purchase has none, and gets one when it is paid.
struct OrderTokens {
  /// The orders of this batch by their token, as the transaction that would be known by that alone.
  private var noted: [RowKey: Orders] = [:]
  /// Orders of this batch that have another token than the table says.
  private var moved: Set<RowKey> = []
  /// Whether any purchase is known by its token alone: hardly any is, which saves a look-up for each order.
  private var hasTokenOnly: Bool
  private let select: SQLStatement

  init(_ db: Database) throws {
    hasTokenOnly =
      try SQLStatement(db, Self.selectTokenOnly).first { $0.int(0) != 0 } ?? false
    select = try SQLStatement(db, Self.selectOrder)
  }

  static let selectTokenOnly = "SELECT EXISTS (SELECT 1 FROM store_transaction WHERE \(LedgerSchema.isTokenOnly))"

  /// The orders of an environment with a token, which is given twice. Without the plus sign SQLite puts the token into the index's expression
  /// and does not know it again.
  static let selectOrder = """
    SELECT transaction_id FROM store_transaction WHERE \(LedgerSchema.isOrder) AND environment = ?
    AND \(LedgerSchema.tokenEnd) = substr(?, -12) AND +purchase_token = ?
    """

  /// Notes a row as it stands from now on.
  ///
  /// - Returns: The transaction that its purchase would be if it is known by its token alone; nil if there is no need to look.
  mutating func note(_ row: TransactionRow) -> RowKey? {
    guard row.key.store == Store.google.code, let token = row.purchaseToken else { return nil }
    if token == row.key.id {
      hasTokenOnly = true
      return nil
    }
    let key = row.key.with(id: token)
    noted[key, default: Orders()].insert(row.key)
    return hasTokenOnly ? key : nil
  }

  /// Forgets the token of a row that has another one from now on.
  ///
  /// - Returns: As `note` does, of the token that it had.
  mutating func forget(_ old: TransactionRow, for row: TransactionRow) -> RowKey? {
    guard old.key.store == Store.google.code, let token = old.purchaseToken, token != row.purchaseToken,
      token != old.key.id
    else { return nil }
    let key = old.key.with(id: token)
    noted[key]?.remove(old.key)
    // What the table says of it no longer holds; if the row comes back to this token, `note` says so.
    moved.insert(old.key)
    return hasTokenOnly ? key : nil
  }

  /// Whether a purchase that is known by its token alone is known by an order id too.
  func has(_ row: TransactionRow) throws -> Bool {
    if noted[row.key]?.isEmpty == false { return true }
    select.bind(1, row.key.environment)
    select.bind(2, row.key.id)
    select.bind(3, row.key.id)
    if moved.isEmpty { return try select.first { _ in true } ?? false }
    return try select.all { row.key.with(id: $0.text(0)) }.contains { !moved.contains($0) }
  }

  /// The orders with one token: nearly always one, for which no set is made.
  private struct Orders {
    private var first: RowKey?
    private var others: Set<RowKey> = []

    var isEmpty: Bool { first == nil }

    mutating func insert(_ key: RowKey) {
      if first == nil { first = key } else if first != key { others.insert(key) }
    }

    mutating func remove(_ key: RowKey) {
      if first == key { first = others.popFirst() } else { others.remove(key) }
    }
  }

  /// After the rows were written.
  mutating func forget() {
    noted.removeAll(keepingCapacity: true)
    moved.removeAll(keepingCapacity: true)
  }
}

extension TransactionRow {
  /// A purchase of Google's without an order id.
  var isTokenOnly: Bool { key.store == Store.google.code && purchaseToken == key.id }
}
