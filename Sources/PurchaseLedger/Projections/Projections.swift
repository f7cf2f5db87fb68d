import Support

/// Folds events into the projection tables. Rows of a batch are joined in memory and written once, by `flush`.
///
/// Lives within one database transaction: of the ledger when it records or rebuilds, of a scratch database in `verify`.
final class Projections {
  let db: SQLiteConnection
  var policy: LedgerPolicy
  /// Whether events are replayed; `policy` then has the final values from the start.
  var isReplaying = false
  var rows: [RowKey: CachedRow] = [:]
  /// The copies in this batch, by their grant.
  private var copies: [RowKey: Set<RowKey>] = [:]
  /// Whether the table has any copies: most ledgers have none, which saves a query for each grant.
  private var hasStoredCopies: Bool
  /// The grants whose entitlement has to be written; nil values are not computed yet.
  private var grants: [RowKey: EntitlementRow?] = [:]
  var accounts: AccountCache
  var claims: ClaimCache
  var acts: ActCache
  var traits: TraitCache

  private var orders: OrderTokens
  /// Whether the store has called any of Google's purchases a test: most ledgers have none, which saves a query for
  /// each grant.
  private var hasTestOrders: Bool
  private let selectRow: SQLiteStatement
  private let upsertRow: SQLiteStatement
  private let selectCopies: SQLiteStatement
  private let upsertGrant: SQLiteStatement
  private let deleteGrant: SQLiteStatement
  private let upsertPosting: SQLiteStatement
  private let deletePosting: SQLiteStatement

  /// A class, because copying a row's many fields is slow when millions of rows are sorted and read.
  final class CachedRow {
    var row: TransactionRow
    /// The row in the table; nil for a new one.
    let stored: TransactionRow?
    /// The digest of `row`, if it is computed already.
    var digest: [UInt8]?

    init(row: TransactionRow, stored: TransactionRow?, digest: [UInt8]?) {
      (self.row, self.stored, self.digest) = (row, stored, digest)
    }

    /// The stored postings of an original; nil if the stored row is a copy, whose postings depend on its original.
    var storedPostings: [Posting]? {
      guard let stored else { return [] }
      return stored.isOriginal ? Posting.postings(of: stored) : nil
    }
  }

  static let selectAnyCopy = "SELECT EXISTS (SELECT 1 FROM store_transaction WHERE transaction_id <> original_id)"

  static let selectAnyTestOrder = "SELECT EXISTS (SELECT 1 FROM store_transaction WHERE store = 2 AND environment = 2)"

  init(_ db: SQLiteConnection, policy: LedgerPolicy) throws {
    self.db = db
    self.policy = policy
    accounts = try AccountCache(db)
    claims = try ClaimCache(db)
    acts = try ActCache(db)
    traits = try TraitCache(db)
    orders = try OrderTokens(db)
    hasTestOrders = try db.cached(Self.selectAnyTestOrder).first { $0.int64(0) != 0 } ?? false
    selectRow = try db.cached(
      """
      SELECT \(TransactionRow.columns) FROM store_transaction
      WHERE store = ? AND environment = ? AND transaction_id = ?
      """)
    upsertRow = try db.cached(TransactionRow.upsert)
    hasStoredCopies =
      try db.cached(Self.selectAnyCopy).first { $0.int64(0) != 0 } ?? false
    selectCopies = try db.cached(
      """
      SELECT transaction_id FROM store_transaction
      WHERE store = ? AND environment = ? AND original_id = ? AND transaction_id <> original_id
      """)
    upsertGrant = try db.cached(EntitlementRow.upsert)
    deleteGrant = try db.cached("DELETE FROM entitlement WHERE store = ? AND environment = ? AND original_id = ?")
    upsertPosting = try db.cached(Posting.upsert)
    deletePosting = try db.cached(
      "DELETE FROM posting WHERE store = ? AND environment = ? AND transaction_id = ? AND entry = ?")
  }

  // MARK: Transactions

  /// The current row of a transaction, including this batch's changes.
  func row(_ key: RowKey) throws -> TransactionRow? {
    if let cached = rows[key] { return cached.row }
    selectRow.bind(1, key)
    guard let row = try selectRow.first({ TransactionRow($0) }) else { return nil }
    rows[key] = CachedRow(row: row, stored: row, digest: nil)
    return row
  }

  /// Joins a fact to its transaction's row.
  ///
  /// - Parameter digest: The digest of `fact`, which is reused if there is no row yet.
  func join(_ fact: TransactionRow, digest: [UInt8]?) throws {
    guard let old = try row(fact.key) else {
      rows[fact.key] = CachedRow(row: fact, stored: nil, digest: digest)
      return try note(fact)
    }
    var joined = old
    joined.join(fact)
    if joined != old { try replace(old, with: joined) }
  }

  func acknowledge(_ key: RowKey) throws {
    guard let old = try row(key), !old.isAcknowledged else { return }
    var row = old
    row.isAcknowledged = true
    try replace(old, with: row)
  }

  private func replace(_ old: TransactionRow, with row: TransactionRow) throws {
    if let cached = rows[row.key] { (cached.row, cached.digest) = (row, nil) }
    if old.originalID != row.originalID {
      copies[old.grant]?.remove(row.key)
      touch(old.grant)
    }
    // The purchase known by the old token alone no longer belongs to this order.
    if let tokenOnly = orders.forget(old, for: row) { try touchGrant(of: tokenOnly) }
    try note(row)
  }

  private func note(_ row: TransactionRow) throws {
    if !row.isOriginal { copies[row.grant, default: []].insert(row.key) }
    touch(row.grant)
    // The purchase known by its token alone is now known by this order.
    if let tokenOnly = orders.note(row) { try touchGrant(of: tokenOnly) }
    // What a device took for a purchase is a test by the store's word.
    if row.key.isTestOrder {
      hasTestOrders = true
      try touchGrant(of: row.key.production)
    }
  }

  private func touchGrant(of transaction: RowKey) throws {
    if let row = try row(transaction) { touch(row.grant) }
  }

  // MARK: Grants

  /// Marks a grant: its entitlement is computed again.
  func touch(_ grant: RowKey) { grants[grant] = .some(nil) }

  /// All transactions of a grant.
  func members(of grant: RowKey) throws -> [TransactionRow] {
    var keys = copies[grant] ?? []
    if hasStoredCopies {
      selectCopies.bind(1, grant)
      keys.formUnion(try selectCopies.all { grant.with(id: $0.text(0)) })
    } else if keys.isEmpty {
      guard let row = try row(grant), row.originalID == grant.id else { return [] }
      return [row]
    }
    keys.insert(grant)
    return try keys.compactMap { key in
      guard let row = try row(key), row.originalID == grant.id else { return nil }
      return row
    }
  }

  /// The entitlement after everything applied so far; nil if no transaction belongs to the grant.
  func entitlement(of grant: RowKey) throws -> EntitlementRow? {
    if let known = grants[grant], let known { return known }
    let entitlement: EntitlementRow?
    if let (found, owners) = try folds(of: grant) {
      var fold = found
      let orphan = owners.tokenAccount == nil ? fold.token : nil
      var owner = owners.owner
      if owner == nil, fold.token == nil || !owners.refusesClaims { owner = try ownerByApp(fold.members) }
      if let owner, fold.isTestHere { fold.reviewUntil = try acts.last(.reviewer, for: owner)?.until }
      entitlement = fold.entitlement(account: owner, orphan: orphan)
    } else {
      entitlement = try entitlementWithoutPurchase(grant)
    }
    if grants[grant] != nil { grants[grant] = entitlement }
    return entitlement
  }

  /// The folds that compute a grant's state and owner.
  func folds(of grant: RowKey) throws -> (GrantFold, OwnerFold)? {
    let members = try members(of: grant).filter { try !$0.isTokenOnly || $0.statement != .pending || !orders.has($0) }
    guard !members.isEmpty else { return nil }
    let isTest = try hasTestOrders && members.contains { try self.isTest($0.key) }
    var fold = GrantFold(key: grant, members: members, policy: policy, isTest: isTest)
    fold.isTaken = try isTaken(members)
    fold.said = try traits.traits(of: grant)
    let token = fold.token
    var tokenAccount = try token.flatMap { try accounts.account(token: $0) }
    if token == nil { tokenAccount = try linkedAccount(members) }
    let owners = try owners(
      token: tokenAccount, keys: members.map(\.key), refusesClaims: token != nil && policy.unknownToken == .refuse)
    return (fold, owners)
  }

  /// Whether the store has called a purchase of Google's production a licence tester's. The text that a device has does
  /// not say so; the store's answer is a transaction of the sandbox with the same id.
  private func isTest(_ key: RowKey) throws -> Bool {
    guard let test = key.testOrder else { return false }
    return try row(test) != nil
  }

  // MARK: Writing

  /// Writes all changes and clears the batch. Rows are written in the order of their primary keys, so that each page is
  /// touched once.
  func flush() throws {
    let changed = rows.values.filter { $0.stored == nil || $0.row != $0.stored }.sorted { $0.row.key < $1.row.key }
    for entry in changed {
      entry.row.bind(to: upsertRow, digest: entry.digest ?? entry.row.digest)
      try upsertRow.run()
      if entry.row.isOriginal {
        try writePostings(Posting.postings(of: entry.row), of: entry.row.key, stored: entry.storedPostings)
      }
    }
    try writePostingsOfCopies(changed)
    for grant in grants.keys.sorted() {
      if let entitlement = try entitlement(of: grant) {
        entitlement.bind(to: upsertGrant)
        try upsertGrant.run()
      } else {
        deleteGrant.bind(1, grant)
        try deleteGrant.run()
      }
    }
    if !copies.isEmpty { hasStoredCopies = true }
    rows.removeAll(keepingCapacity: true)
    copies.removeAll(keepingCapacity: true)
    grants.removeAll(keepingCapacity: true)
    claims.forget()
    orders.forget()
  }

  /// Writes the postings of changed copies and of copies whose original changed: a copy's revenue depends on whether
  /// its original was refunded.
  private func writePostingsOfCopies(_ changed: [CachedRow]) throws {
    guard hasStoredCopies || !copies.isEmpty else { return }
    var keys = Set(changed.lazy.map(\.row).filter { !$0.isOriginal }.map(\.key))
    for entry in changed where entry.row.refundDateAsOriginal != entry.stored?.refundDateAsOriginal {
      keys.formUnion(try members(of: entry.row.key).filter { !$0.isOriginal }.map(\.key))
    }
    for key in keys.sorted() {
      guard let row = try row(key) else { continue }
      let postings = Posting.postings(of: row, original: try self.row(row.grant))
      try writePostings(postings, of: key, stored: nil)
    }
  }

  /// - Parameter stored: The stored postings; nil if they are not known.
  private func writePostings(_ wanted: [Posting], of key: RowKey, stored: [Posting]?) throws {
    for posting in wanted where stored?.contains(posting) != true {
      posting.bind(to: upsertPosting, key: key)
      try upsertPosting.run()
    }
    let entries = stored?.map(\.entry) ?? [1, 2]
    for entry in entries where !wanted.contains(where: { $0.entry == entry }) {
      deletePosting.bind(1, key)
      deletePosting.bind(4, entry)
      try deletePosting.run()
    }
  }
}
