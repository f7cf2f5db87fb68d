import Foundation
import GRDB

/// Reads what a difference consists of. Lives within the read transaction of the merge.
struct ReconcileDetails {
  private let projections: ReconcileProjections
  private let refusesUnknownTokens: Bool
  private let selectFact: SQLStatement
  private let selectRow: SQLStatement
  private let selectQuarantine: SQLStatement

  init(_ db: Database) throws {
    projections = try ReconcileProjections(db)
    refusesUnknownTokens = try Booker.policy(db).unknownToken == .refuse
    selectFact = try SQLStatement(
      db, "SELECT fact, evidence FROM store_snapshot WHERE store = ? AND environment = ? AND transaction_id = ?")
    selectRow = try SQLStatement(
      db,
      """
      SELECT \(TransactionRow.columns) FROM store_transaction
      WHERE store = ? AND environment = ? AND transaction_id = ?
      """)
    selectQuarantine = try SQLStatement(db, "SELECT id, sha256, reason FROM evidence WHERE outcome = 2 ORDER BY id")
  }

  /// The snapshot's fact with the digest of its evidence.
  func fact(_ key: RowKey) throws -> (fact: PreparedFact, evidence: [UInt8])? {
    selectFact.bind(1, key)
    return try selectFact.first { row in
      guard let fact = try? PreparedFact(body: row.blob(0)) else {
        throw LedgerError(
          .damaged, at: "store_snapshot \(key.id)", "cannot be read; pull the store's book again")
      }
      return (fact, row.blob(1))
    }
  }

  private func row(_ key: RowKey) throws -> TransactionRow? {
    selectRow.bind(1, key)
    return try selectRow.first { TransactionRow($0) }
  }

  func ownOnly(_ key: RowKey) throws -> ReconcileLine {
    var line = ReconcileLine(.ownOnly, key.transactionKey)
    guard let row = try row(key) else { return line }
    line.ours = .init(row)
    line.owner = try projections.owner(of: row.grant).map { AccountID($0.id) }
    return line
  }

  func storeOnly(_ key: RowKey) throws -> ReconcileLine {
    var line = ReconcileLine(.storeOnly, key.transactionKey)
    guard let fact = try fact(key)?.fact else { return line }
    line.theirs = .init(fact.row)
    return try judged(line, fact.row)
  }

  /// Nil if the store's fact would change nothing in our book: ours is the newer.
  func difference(_ key: RowKey) throws -> ReconcileLine? {
    guard let fact = try fact(key)?.fact, let row = try row(key) else { return nil }
    var joined = row
    joined.join(fact.row)
    guard joined.digest != row.digest || joined.token != row.token else { return nil }
    var line = ReconcileLine(.stateDiffers, key.transactionKey)
    line.theirs = .init(fact.row)
    line.ours = .init(row)
    line.owner = try projections.owner(of: row.grant).map { AccountID($0.id) }
    return joined.token == row.token ? line : try judged(line, fact.row)
  }

  /// A fact that would take a grant from its owner is for a person to decide.
  private func judged(_ line: ReconcileLine, _ fact: TransactionRow) throws -> ReconcileLine {
    var line = line
    guard let token = fact.token, let owner = try projections.owner(of: fact.grant) else { return line }
    line.owner = AccountID(owner.id)
    let account = try projections.account(token: token)
    // The token of an erased account voids claims that were made while it lived, too; one that is nobody's does so only by policy.
    guard account.map({ $0.number != owner.number }) ?? refusesUnknownTokens else { return line }
    line.class = .accountConflict
    line.claimant = account.map { AccountID($0.id) }
    return line
  }

  func quarantined(_ each: (ReconcileLine) throws -> Void) throws {
    defer { selectQuarantine.reset() }
    while try selectQuarantine.step() {
      var line = ReconcileLine(.quarantined, nil)
      line.quarantine = "\(selectQuarantine.text(2)), evidence \(selectQuarantine.blob(1).prefix(8).hexadecimal)"
      try each(line)
    }
  }
}

/// Owners and accounts as the projections have them.
private struct ReconcileProjections {
  private let selectOwner: SQLStatement
  private let selectToken: SQLStatement

  init(_ db: Database) throws {
    let columns = "a.number, a.id, a.token, a.opened_seq, a.erased_seq"
    selectOwner = try SQLStatement(
      db,
      """
      SELECT \(columns) FROM entitlement AS e JOIN account AS a ON a.number = e.account
      WHERE e.store = ? AND e.environment = ? AND e.original_id = ?
      """)
    selectToken = try SQLStatement(
      db, "SELECT \(columns) FROM account AS a WHERE a.token = ?")
  }

  func owner(of grant: RowKey) throws -> AccountRow? {
    selectOwner.bind(1, grant)
    return try selectOwner.first(AccountCache.read) ?? nil
  }

  /// The account of a token, living or erased.
  func account(token: UUID) throws -> AccountRow? {
    selectToken.bind(1, token)
    return try selectToken.first(AccountCache.read) ?? nil
  }
}
