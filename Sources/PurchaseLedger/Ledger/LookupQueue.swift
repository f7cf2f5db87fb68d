import GRDB

/// The questions that wait for the next pull, kept in `lookup`. Lives within one write transaction.
///
/// Anybody can send messages that make us ask, so of each store and environment only so many of their questions wait, and they give way to each other by
/// their rank (docs/ledger.md, Events): what we ask ourselves is neither counted nor dropped, a question about a transaction of our book stays before a guess,
/// the first question of any message before the second of every other, and among equals the younger one.
final class LookupQueue {
  static let questionsMax = 10_000

  /// Of our own questions. The questions of a message count from 1 where they are about a transaction of our book, from `guess + 1` elsewhere.
  private static let own: Int64 = 0
  private static let guess: Int64 = 1_000

  private struct Scope: Hashable {
    let store: UInt8
    let environment: UInt8
  }

  private let now: Int64
  private var counts: [Scope: Int] = [:]
  private let count: SQLStatement
  private let renew: SQLStatement
  private let insert: SQLStatement
  private let last: SQLStatement
  private let delete: SQLStatement

  init(_ db: Database, now: Int64) throws {
    self.now = now
    count = try SQLStatement(db, "SELECT count(*) FROM lookup WHERE store = ? AND environment = ? AND rank > 0")
    renew = try SQLStatement(
      db,
      """
      UPDATE lookup SET product_id = coalesce(product_id, ?4), purchase_token = coalesce(purchase_token, ?5),
        rank = min(rank, ?6)
      WHERE store = ?1 AND environment = ?2 AND transaction_id = ?3
      """)
    insert = try SQLStatement(
      db,
      """
      INSERT INTO lookup (store, environment, transaction_id, product_id, purchase_token, rank, asked_at)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """)
    last = try SQLStatement(
      db,
      """
      SELECT rank, transaction_id FROM lookup WHERE store = ? AND environment = ? AND rank > 0
      ORDER BY rank DESC, asked_at LIMIT 1
      """)
    delete = try SQLStatement(db, "DELETE FROM lookup WHERE store = ? AND environment = ? AND transaction_id = ?")
  }

  /// Asks a question of our own.
  func ask(_ hint: LookupHint) throws {
    guard let key = RowKey(hint.key) else { return }
    _ = try put(hint, key, rank: Self.own)
  }

  /// Takes a question of a message.
  ///
  /// - Parameters:
  ///   - place: Which question of its message it is, from 0.
  ///   - isKnown: Whether it is about a transaction of our book.
  /// - Returns: Whether it waits now; false when all that wait come before it.
  func offer(_ hint: LookupHint, place: Int, isKnown: Bool) throws -> Bool {
    guard let key = RowKey(hint.key) else { return false }
    return try put(hint, key, rank: (isKnown ? 0 : Self.guess) + Int64(place) + 1)
  }

  /// Drops a question that was answered.
  func remove(_ key: RowKey) throws {
    delete.bind(1, key)
    try delete.run()
    counts[Scope(store: key.store, environment: key.environment)] = nil
  }

  private func put(_ hint: LookupHint, _ key: RowKey, rank: Int64) throws -> Bool {
    let scope = Scope(store: key.store, environment: key.environment)
    for statement in [renew, insert] {
      statement.bind(1, key)
      statement.bind(4, hint.productID)
      statement.bind(5, hint.purchaseToken)
      statement.bind(6, rank)
    }
    try renew.run()
    if renew.changes > 0 {
      // It may have become one of ours.
      if rank == Self.own { counts[scope] = nil }
      return true
    }
    if rank > Self.own, try number(in: scope) >= Self.questionsMax {
      guard try dropLast(in: scope, for: rank) else { return false }
    }
    insert.bind(7, now)
    try insert.run()
    if rank > Self.own { counts[scope, default: 0] += 1 }
    return true
  }

  private func number(in scope: Scope) throws -> Int {
    if let known = counts[scope] { return known }
    count.bind(1, scope.store)
    count.bind(2, scope.environment)
    let number = try count.first { Int($0.int(0)) } ?? 0
    counts[scope] = number
    return number
  }

  /// - Returns: False when even the last comes before a question of this rank.
  private func dropLast(in scope: Scope, for rank: Int64) throws -> Bool {
    last.bind(1, scope.store)
    last.bind(2, scope.environment)
    guard let found = try last.first({ (rank: $0.int(0), id: $0.text(1)) }), found.rank >= rank else { return false }
    delete.bind(1, RowKey(store: scope.store, environment: scope.environment, id: found.id))
    try delete.run()
    counts[scope, default: 1] -= 1
    return true
  }
}
