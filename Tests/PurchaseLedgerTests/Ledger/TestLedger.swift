import Foundation
import Support
import TestSupport

@testable import Accounts
@testable import PurchaseLedger

/// A ledger in a temporary folder, and facts to record in it.
final class TestLedger: Sendable {
  static let now: Int64 = 1_700_000_000_000
  static let day: Int64 = 86_400_000

  let folder: TemporaryFolder
  let ledger: Ledger

  init(_ change: (inout LedgerPolicy) -> Void = { _ in }) throws {
    folder = try TemporaryFolder()
    var policy = LedgerPolicy()
    change(&policy)
    ledger = try Ledger.create(at: folder.file("ledger.sqlite"), policy: policy, clock: .fixed(Self.now))
  }

  var path: String { folder.file("ledger.sqlite") }

  /// Opens an account without a password, which most tests do not need.
  func account(token: AccountToken = .random()) throws -> AccountID {
    let id = AccountID.random()
    try ledger.write { recorder in _ = try recorder.append(.accountOpened(id, token: token)) }
    return id
  }

  func erase(_ account: AccountID) throws {
    try ledger.write { recorder in _ = try recorder.append(.accountErased(account)) }
  }

  func token(of account: AccountID) throws -> AccountToken { try ledger.accounts.token(of: account)! }

  /// Records facts as one piece of evidence.
  @discardableResult
  func book(
    _ facts: StoreTransaction..., notification: NotificationFact? = nil, as account: AccountID? = nil,
    isExplicit: Bool = true, channel: Submission.Channel = .operatorImport, bytes: [UInt8]? = nil,
    quarantine: VerificationError? = nil
  ) throws -> Booking {
    try ledger.commit(
      [Self.piece(facts, notification, account, isExplicit, channel, bytes, quarantine)], progress: nil)[0]
  }

  static func piece(
    _ facts: [StoreTransaction], _ notification: NotificationFact? = nil, _ account: AccountID? = nil,
    _ isExplicit: Bool = true, _ channel: Submission.Channel = .operatorImport, _ bytes: [UInt8]? = nil,
    _ quarantine: VerificationError? = nil
  ) -> (Submission, Result<VerifiedEvidence, VerificationError>) {
    let submission = Submission(
      evidence: bytes ?? Array("\(facts) \(String(describing: notification))".utf8), account: account,
      isExplicit: isExplicit, channel: channel)
    let content = VerifiedEvidence(
      kind: notification == nil ? .transaction : .notification, store: facts.first?.store ?? .apple,
      environment: facts.first?.environment, transactions: facts, notification: notification,
      signedDate: facts.first?.signedDate, quarantine: quarantine)
    return (submission, .success(content))
  }

  /// All rows of the projections, as text.
  func projections() throws -> [String: [String]] { try Self.projections(ledger) }

  static func projections(_ ledger: Ledger) throws -> [String: [String]] {
    try ledger.read { db in
      var tables: [String: [String]] = [:]
      for (table, key) in LedgerSchema.projections {
        tables[table] = try db.rows("SELECT * FROM \(table) ORDER BY \(key.joined(separator: ", "))")
      }
      return tables
    }
  }

  func count(_ sql: String) throws -> Int { try count(sql, in: ledger) }

  func count(_ sql: String, in ledger: Ledger) throws -> Int {
    try ledger.read { try $0.prepare(sql).first { $0.int(0) } ?? 0 }
  }

  func events(_ type: EventType) throws -> Int {
    try count("SELECT count(*) FROM event WHERE type = \(type.rawValue)")
  }

  func status(_ id: String, store: Store = .apple) throws -> Entitlement.Status? {
    try ledger.entitlement(of: TransactionKey(store: store, environment: .production, id: id))?.status
  }

  func owner(_ id: String, store: Store = .apple) throws -> AccountID? {
    try ledger.entitlement(of: TransactionKey(store: store, environment: .production, id: id))?.account
  }

  /// The amounts of a transaction's postings, by entry.
  func amounts(_ id: String) throws -> [Int64: Int64] {
    try ledger.read { db in
      let select = try db.prepare("SELECT entry, amount FROM posting WHERE transaction_id = ?")
      select.bind(1, id)
      return Dictionary(uniqueKeysWithValues: try select.all { ($0.int64(0), $0.int64(1)) })
    }
  }
}

extension SQLiteConnection {
  /// The rows of a query, as text.
  func rows(_ sql: String) throws -> [String] {
    try prepare(sql).all { row in (0..<row.columnCount).map { row.printed($0) }.joined(separator: " | ") }
  }
}

extension SQLiteStatement {
  /// A value as text: bytes in hexadecimal.
  func printed(_ column: Int32) -> String {
    switch type(column) {
    case .null: "NULL"
    case .blob: "x'\(blob(column).hexadecimal)'"
    default: text(column)
    }
  }
}

extension StoreTransaction {
  /// A signed Apple purchase of a region, changed as the test needs.
  static func sample(
    _ id: String = "1", original: String? = nil, signed: Int64 = TestLedger.now - TestLedger.day,
    _ change: (inout StoreTransaction) -> Void = { _ in }
  ) -> StoreTransaction {
    var fact = StoreTransaction(
      store: .apple, environment: .production, transactionID: id, originalTransactionID: original ?? id,
      productID: "region.alps", productType: .nonConsumable, purchaseDate: TestLedger.now - 10 * TestLedger.day,
      ownership: .purchased, price: Money(milliunits: 10_990, currency: "USD"), reason: "PURCHASE",
      signedDate: signed, trust: .signed, statement: .purchased)
    change(&fact)
    return fact
  }

  /// The same purchase, refunded at a date.
  func revoked(
    at date: Int64, signed: Int64? = nil, percentageMilli: Int64? = nil, type: String? = nil
  ) -> StoreTransaction {
    var fact = self
    fact.statement = .revoked
    fact.revocation = Revocation(date: date, reason: "0", percentageMilli: percentageMilli, type: type)
    fact.signedDate = signed ?? date
    return fact
  }
}
