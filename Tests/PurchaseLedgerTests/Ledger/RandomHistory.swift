import Foundation
import Support
import TestSupport

@testable import PurchaseLedger

/// Evidence of a few transactions, and accounts that are opened, claim and are erased. Evidence may arrive in any order
/// and repeatedly; the accounts' actions have a fixed order.
struct RandomHistory {
  enum Step {
    case open(Int)
    case erase(Int)
    case claim(StoreTransaction, Int, isExplicit: Bool)
  }

  var policy = LedgerPolicy()
  var evidence: [StoreTransaction] = []
  /// Notifications, each with the index of its fact.
  var messages: [(fact: Int, note: NotificationFact)] = []
  /// Purchases that are acknowledged to Google.
  var acknowledged: [TransactionKey] = []
  var steps: [Step] = []
  /// Some facts do not name their original.
  var forgetsOriginals: Bool
  /// Facts about one transaction name several originals.
  var contradictsOriginals: Bool

  static let accounts = (0..<3).map { UUID(uuid: (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8($0))) }
  static let tokens = (0..<4).map { UUID(uuid: (2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8($0))) }

  /// Tokens with the same end, which the index covers.
  private static let purchaseTokens = ["a-google-token-of-some-length", "b-google-token-of-some-length"]
  private static let apples = ["t0", "t1", "t3"]

  private let originals: [String]

  init(using random: inout SeededGenerator) {
    forgetsOriginals = Int.random(in: 0..<3, using: &random) == 0
    contradictsOriginals = Int.random(in: 0..<6, using: &random) == 0
    var originals = [
      "t0", Bool.random(using: &random) ? "t0" : "t1", Bool.random(using: &random) ? "t0" : "t2",
      Bool.random(using: &random) ? "t9" : "t3", "t4",
    ]
    // A copy of a copy, and two copies of each other: no store states this, but the result must not depend on the
    // order.
    if Bool.random(using: &random) {
      for index in [0, 1, 3] { originals[index] = Self.apples.randomElement(using: &random)! }
    }
    self.originals = originals
    // Whether a claim was superseded depends on the grant as known at that time.
    let knowsGrants = !forgetsOriginals && !contradictsOriginals
    policy.secondClaim = knowsGrants && Bool.random(using: &random) ? .transfer : .refuse
    policy.unknownToken = Bool.random(using: &random) ? .claimable : .refuse
    policy.partialRefund = Bool.random(using: &random) ? .keep : .revoke
    policy.familySharing = Bool.random(using: &random) ? .grant : .withhold
    for _ in 0..<Int.random(in: 3...12, using: &random) { evidence.append(fact(using: &random)) }
    for index in evidence.indices where Int.random(in: 0..<3, using: &random) == 0 {
      let fact = evidence[index]
      let note = NotificationFact(
        store: fact.store, environment: fact.environment, uuid: "u\(Int.random(in: 0..<6, using: &random))",
        type: ["REFUND", "ONE_TIME_CHARGE", "NEW_TYPE"].randomElement(using: &random)!, subtype: nil,
        signedDate: fact.signedDate, transaction: fact.key)
      messages.append((index, note))
    }
    acknowledged = evidence.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }.map(\.key)
    var open: Set<Int> = []
    var erased: Set<Int> = []
    for _ in 0..<Int.random(in: 2...12, using: &random) {
      let account = Int.random(in: 0..<3, using: &random)
      if !open.contains(account) {
        open.insert(account)
        steps.append(.open(account))
      } else if erased.contains(account) {
        continue
      } else if Int.random(in: 0..<6, using: &random) == 0 {
        erased.insert(account)
        steps.append(.erase(account))
      } else {
        steps.append(.claim(fact(using: &random), account, isExplicit: Bool.random(using: &random)))
      }
    }
  }

  private func fact(using random: inout SeededGenerator) -> StoreTransaction {
    let index = Int.random(in: 0..<6, using: &random)
    // The last two are Google's, whose orders have no originals; one of them has a token and no order.
    let isGoogle = index >= 4
    let purchaseToken = Self.purchaseTokens.randomElement(using: &random)!
    let id = index == 5 ? purchaseToken : "t\(index)"
    var original = index == 5 ? purchaseToken : originals[index]
    let forgets = forgetsOriginals && Bool.random(using: &random)
    if contradictsOriginals && !isGoogle { original = Self.apples.randomElement(using: &random)! }
    let start: Int64 = 1_600_000_000_000
    var fact = StoreTransaction(
      store: isGoogle ? .google : .apple, environment: index == 2 ? .sandbox : .production,
      transactionID: id, originalTransactionID: forgets ? id : original,
      productID: Bool.random(using: &random) ? "region.\(Int.random(in: 0..<3, using: &random))" : nil,
      productType: [.unknown, .nonConsumable, .nonConsumable, .consumable, .autoRenewable].randomElement(
        using: &random)!,
      purchaseDate: start + [0, 400, 600, 300, 200, 200][index] + Int64.random(in: 0...1, using: &random),
      expiresDate: Int.random(in: 0..<8, using: &random) == 0
        ? start + 9000 + Int64.random(in: 0...1, using: &random) : nil,
      quantity: Int64.random(in: 1...3, using: &random),
      ownership: Int.random(in: 0..<4, using: &random) == 0 ? .familyShared : .purchased,
      price: Bool.random(using: &random)
        ? Money(
          milliunits: Int64.random(in: 0...20_000, using: &random),
          currency: ["EUR", "JPY", "KWD"].randomElement(using: &random)!)
        : nil,
      reason: ["", "PURCHASE", "PURCHASE", "PROMOTION"].randomElement(using: &random)!,
      isAcknowledged: Bool.random(using: &random), signedDate: start + Int64.random(in: 1...5, using: &random) * 200,
      trust: Bool.random(using: &random) ? .signed : .unsigned,
      statement: [.pending, .purchased, .purchased, .revoked, .reversed].randomElement(using: &random)!)
    if Int.random(in: 0..<3, using: &random) == 0 {
      fact.appAccountToken = AccountToken(Self.tokens.randomElement(using: &random)!)
    }
    if index == 5 || (isGoogle && Bool.random(using: &random)) { fact.purchaseToken = purchaseToken }
    if fact.statement == .revoked {
      fact.revocation = Revocation(
        date: start + Int64.random(in: 1...9, using: &random) * 100,
        reason: Bool.random(using: &random) ? "1" : nil,
        percentageMilli: Int.random(in: 0..<4, using: &random) == 0 ? 50_000 : nil,
        type: Int.random(in: 0..<5, using: &random) == 0 ? "FAMILY_REVOKE" : nil,
        quantity: Int.random(in: 0..<4, using: &random) == 0 ? 1 : nil)
    }
    return fact
  }

  /// Records everything: the evidence in random order, some of it twice, between the accounts' actions and in batches
  /// of random length.
  func book(using random: inout SeededGenerator) throws -> SerializedConnection {
    let shuffled = (evidence + evidence.filter { _ in Bool.random(using: &random) }).shuffled(using: &random)
    var work: [(EvidenceRecorder) throws -> Void] = shuffled.map { fact in { _ = try $0.book(Self.piece(fact)) } }
    // Redelivered at any time, before or after the fact arrived by itself.
    for message in messages + messages.filter({ _ in Bool.random(using: &random) }) {
      let piece = TestLedger.piece([evidence[message.fact]], message.note)
      work.insert(
        { _ = try $0.book(PreparedEvidence(piece.0, piece.1)) }, at: Int.random(in: 0...work.count, using: &random))
    }
    var places = steps.map { _ in Int.random(in: 0...work.count, using: &random) }.sorted()
    for step in steps.reversed() { work.insert(Self.work(step), at: places.removeLast()) }
    // A purchase is acknowledged after it was recorded; when and how often makes no difference.
    for key in (acknowledged + acknowledged).shuffled(using: &random) {
      work.append { recorder in _ = try recorder.append(.acknowledgement(key)) }
    }

    let database = try LedgerDatabase.scratch()
    try database.write { db in
      try LedgerSchema.createPrimary(db)
      try LedgerSchema.createProjections(db)
      let recorder = try EvidenceRecorder(db, now: 1)
      try recorder.record(policy)
      try recorder.finish()
    }
    while !work.isEmpty {
      let count = min(work.count, Int.random(in: 1...5, using: &random))
      try database.write { db in
        let recorder = try EvidenceRecorder(db, now: 1)
        for item in work.prefix(count) { try item(recorder) }
        try recorder.finish()
      }
      work.removeFirst(count)
    }
    return database
  }

  private static func work(_ step: Step) -> (EvidenceRecorder) throws -> Void {
    switch step {
    case .open(let index):
      return { recorder in
        try recorder.append(.accountOpened(AccountID(accounts[index]), token: AccountToken(tokens[index])))
      }
    case .erase(let index): return { recorder in try recorder.append(.accountErased(AccountID(accounts[index]))) }
    case .claim(let fact, let index, let isExplicit):
      return { recorder in
        _ = try recorder.book(piece(fact, account: AccountID(accounts[index]), isExplicit: isExplicit))
      }
    }
  }

  private static func piece(
    _ fact: StoreTransaction, account: AccountID? = nil, isExplicit: Bool = true
  ) -> PreparedEvidence {
    let piece = TestLedger.piece([fact], nil, account, isExplicit)
    return PreparedEvidence(piece.0, piece.1)
  }
}

/// The projections as text. Event numbers are replaced by their ranks, because they depend on the evidence in between.
func rankedProjections(_ db: SQLiteConnection) throws -> [String: [String]] {
  let numbers = try db.prepare(
    """
    SELECT seq FROM claim UNION SELECT opened_seq FROM account
    UNION SELECT erased_seq FROM account WHERE erased_seq > 0
    """
  ).all { $0.int64(0) }
  var tables: [String: [String]] = [:]
  for (table, key) in LedgerSchema.projections where table != "policy" {
    let select = try db.prepare("SELECT * FROM \(table) ORDER BY \(key.joined(separator: ", "))")
    tables[table] = try select.all { row in
      (0..<row.columnCount).map { column in
        let name = row.columnName(column)
        guard name.hasSuffix("seq") else { return "\(name)=\(row.printed(column))" }
        let rank = row.optionalInt64(column).flatMap { numbers.firstIndex(of: $0) }
        return "\(name)=\(rank.map(String.init) ?? "-")"
      }.joined(separator: " ")
    }
  }
  return tables
}
