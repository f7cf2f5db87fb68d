import Crypto
import Support

/// The queries to a store that wait for the next pull, stored in `lookup`. Lives within one write transaction.
///
/// Anybody can send messages that request queries, so their number is limited for each store and environment
/// (docs/reference/ledger-schema.md, Types). The ledger's own queries are neither counted nor dropped. At the limit a
/// query about an unknown transaction (a guess) is dropped before one about a recorded transaction. Among them the
/// source with the most queries loses its last one: later queries of a message before its first ones, then the oldest.
final class LookupQueue {
  static let questionsMax = 10_000

  /// Who requested a query, as far as the ledger knows.
  enum Source {
    case unknown
    case operatorImport
    /// An account or a network.
    case named(String)
  }

  /// The rank of the ledger's own queries. The queries of a message rank from 1 if their transaction is recorded, else
  /// from `guess + 1`.
  private static let own: Int64 = 0
  private static let guess: Int64 = 1_000

  private struct Scope: Hashable {
    let store: UInt8
    let environment: UInt8
  }

  private let db: SQLiteConnection
  private let now: Int64
  private var shares: [Scope: LookupShares] = [:]
  private var numbers: [String: Int64] = [:]
  private let count: SQLiteStatement
  private let select: SQLiteStatement
  private let update: SQLiteStatement
  private let insert: SQLiteStatement
  private let last: SQLiteStatement
  private let delete: SQLiteStatement
  /// Remove what belongs to a query that is dropped.
  private let dependents: [SQLiteStatement]

  init(_ db: SQLiteConnection, now: Int64) throws {
    self.db = db
    self.now = now
    count = try db.cached(
      """
      SELECT source, count(*), sum(rank > \(Self.guess)), min(asked_at) FROM lookup
      WHERE store = ? AND environment = ? AND rank > 0 GROUP BY source
      """)
    select = try db.cached("SELECT rank, source FROM lookup WHERE store = ? AND environment = ? AND transaction_id = ?")
    update = try db.cached(
      """
      UPDATE lookup SET product_id = coalesce(product_id, ?4), purchase_token = coalesce(purchase_token, ?5),
        rank = ?6, source = ?7, asked_at = ?8
      WHERE store = ?1 AND environment = ?2 AND transaction_id = ?3
      """)
    insert = try db.cached(
      """
      INSERT INTO lookup (store, environment, transaction_id, product_id, purchase_token, rank, source, asked_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """)
    last = try db.cached(
      """
      SELECT rank, transaction_id FROM lookup WHERE store = ? AND environment = ? AND source = ? AND rank > 0
      ORDER BY rank DESC, asked_at LIMIT 1
      """)
    delete = try db.cached("DELETE FROM lookup WHERE store = ? AND environment = ? AND transaction_id = ?")
    dependents = try ["claimant WHERE transaction_id", "failed_question WHERE id"].map {
      try db.cached("DELETE FROM \($0) = ?3 AND store = ?1 AND environment = ?2")
    }
  }

  /// Queues a query of the ledger itself.
  func ask(_ hint: LookupHint) throws {
    guard let key = RowKey(hint.key) else { return }
    _ = try put(hint, key, rank: Self.own, source: 0)
  }

  /// Queues a query requested by a message.
  ///
  /// - Parameters:
  ///   - place: Its position among the message's queries, from 0.
  ///   - isKnown: Whether its transaction is recorded.
  /// - Returns: Whether it is queued; false if the queue is full of queries that take priority.
  func offer(_ hint: LookupHint, place: Int, isKnown: Bool, from source: Source) throws -> Bool {
    guard let key = RowKey(hint.key) else { return false }
    return try put(
      hint, key, rank: (isKnown ? 0 : Self.guess) + Int64(place) + 1, source: number(of: source))
  }

  /// Removes a query that is not asked any more, with the accounts that wait for its answer.
  func drop(_ key: RowKey) throws {
    try remove(key)
    try forget(key)
  }

  private func forget(_ key: RowKey) throws {
    for statement in dependents {
      statement.bind(1, key)
      try statement.run()
    }
  }

  /// Removes an answered query.
  func remove(_ key: RowKey) throws {
    delete.bind(1, key)
    try delete.run()
    shares[Scope(store: key.store, environment: key.environment)] = nil
  }

  private func put(_ hint: LookupHint, _ key: RowKey, rank: Int64, source: Int64) throws -> Bool {
    let scope = Scope(store: key.store, environment: key.environment)
    select.bind(1, key)
    if let waiting = try select.first({ (rank: $0.int64(0), source: $0.int64(1)) }) {
      try renew(hint, key, from: waiting, to: (rank, source), in: scope)
      return true
    }
    if rank > Self.own {
      let shares = try shares(in: scope)
      if shares.count >= Self.questionsMax {
        guard let largest = shares.largest(with: source, isGuess: rank > Self.guess),
          try dropLast(of: largest, in: scope, for: largest == source ? rank : nil, shares)
        else { return false }
      }
      shares.add(source, isGuess: rank > Self.guess, askedAt: now)
    }
    try write(insert, hint, key, rank, source)
    return true
  }

  /// Renews a queued query as of now. It counts against the source that has fewer queries, so that repeating another's
  /// query does not push it out.
  private func renew(
    _ hint: LookupHint, _ key: RowKey, from old: (rank: Int64, source: Int64), to new: (rank: Int64, source: Int64),
    in scope: Scope
  ) throws {
    let rank = min(old.rank, new.rank)
    var source = old.source
    if old.rank > Self.own {
      let shares = try shares(in: scope)
      shares.remove(old.source, isGuess: old.rank > Self.guess)
      if rank > Self.own {
        if shares[new.source] < shares[old.source] { source = new.source }
        shares.add(source, isGuess: rank > Self.guess, askedAt: now)
      }
    }
    try write(update, hint, key, rank, source)
  }

  private func write(
    _ statement: SQLiteStatement, _ hint: LookupHint, _ key: RowKey, _ rank: Int64, _ source: Int64
  ) throws {
    statement.bind(1, key)
    statement.bind(4, hint.productID)
    statement.bind(5, hint.purchaseToken)
    statement.bind(6, rank)
    statement.bind(7, source)
    statement.bind(8, now)
    try statement.run()
  }

  private func shares(in scope: Scope) throws -> LookupShares {
    if let known = shares[scope] { return known }
    count.bind(1, scope.store)
    count.bind(2, scope.environment)
    let found = LookupShares()
    for (source, all, guesses, askedAt) in try count.all({
      ($0.int64(0), Int($0.int64(1)), Int($0.int64(2)), $0.int64(3))
    }) {
      found.add(source, isGuess: false, all - guesses, askedAt: askedAt)
      found.add(source, isGuess: true, guesses, askedAt: askedAt)
    }
    shares[scope] = found
    return found
  }

  /// Drops a source's last query.
  ///
  /// - Parameter rank: The rank of the new query if it is of the same source.
  /// - Returns: False if the source's last query takes priority over the new one.
  private func dropLast(of source: Int64, in scope: Scope, for rank: Int64?, _ shares: LookupShares) throws -> Bool {
    last.bind(1, scope.store)
    last.bind(2, scope.environment)
    last.bind(3, source)
    guard let found = try last.first({ (rank: $0.int64(0), id: $0.text(1)) }), found.rank >= rank ?? 0 else {
      return false
    }
    let key = RowKey(store: scope.store, environment: scope.environment, id: found.id)
    delete.bind(1, key)
    try delete.run()
    try forget(key)
    shares.remove(source, isGuess: found.rank > Self.guess)
    return true
  }

  // MARK: Sources

  /// The number that represents a source in the file: of a named source 16 bits of a hash, which many sources share.
  private func number(of source: Source) throws -> Int64 {
    switch source {
    case .unknown: return 0
    case .operatorImport: return 1
    case .named(let name):
      if let known = numbers[name] { return known }
      let code = HMAC<SHA256>.authenticationCode(for: Array(name.utf8), using: SymmetricKey(data: try secret()))
      let number = code.prefix(2).reduce(0) { $0 << 8 + Int64($1) } + 2
      numbers[name] = number
      return number
    }
  }

  /// The key of the hash, random for each file, so that outsiders cannot compute which sources share a number.
  private func secret() throws -> [UInt8] {
    let insert = try db.cached(
      "INSERT OR IGNORE INTO cursor (name, value, updated_at) VALUES ('lookup.secret', hex(randomblob(32)), ?)")
    insert.bind(1, now)
    try insert.run()
    return Array(
      try db.cached("SELECT value FROM cursor WHERE name = 'lookup.secret'").first { $0.text(0) }?.utf8
        ?? "".utf8)
  }
}

/// The number of queued queries by source.
private final class LookupShares {
  private struct Share {
    var known = 0
    var guesses = 0
    /// A lower bound of when the oldest query was requested.
    var askedAt: Int64 = .max

    subscript(isGuess isGuess: Bool) -> Int {
      get { isGuess ? guesses : known }
      set { if isGuess { guesses = newValue } else { known = newValue } }
    }
  }

  private var shares: [Int64: Share] = [:]
  private(set) var count = 0
  private var guesses = 0

  /// The number of a source's queries.
  subscript(source: Int64) -> Int { shares[source].map { $0.known + $0.guesses } ?? 0 }

  func add(_ source: Int64, isGuess: Bool, _ number: Int = 1, askedAt: Int64) {
    var share = shares[source] ?? Share()
    share[isGuess: isGuess] += number
    share.askedAt = min(share.askedAt, askedAt)
    shares[source] = share
    count += number
    if isGuess { guesses += number }
  }

  func remove(_ source: Int64, isGuess: Bool) {
    guard var share = shares[source], share[isGuess: isGuess] > 0 else { return }
    share[isGuess: isGuess] -= 1
    shares[source] = share[isGuess: false] + share[isGuess: true] > 0 ? share : nil
    count -= 1
    if isGuess { guesses -= 1 }
  }

  /// The source that loses a query to a new one of `asking`: the source with the most queries including the new one; of
  /// equal ones not `asking`, then the one whose oldest query is the oldest.
  ///
  /// - Returns: Nil if a guess would replace a query about a recorded transaction.
  /// - Complexity: O(sources), at most 65,538.
  func largest(with asking: Int64, isGuess: Bool) -> Int64? {
    if isGuess, guesses == 0 { return nil }
    let amongGuesses = guesses > 0
    func size(_ source: Int64, _ share: Share) -> Int {
      share[isGuess: amongGuesses] + (source == asking && isGuess == amongGuesses ? 1 : 0)
    }
    return shares.lazy.filter { $0.value[isGuess: amongGuesses] > 0 }.max { a, b in
      let (first, second) = (size(a.key, a.value), size(b.key, b.value))
      if first != second { return first < second }
      if (a.key == asking) != (b.key == asking) { return a.key == asking }
      return a.value.askedAt > b.value.askedAt
    }?.key
  }
}
