import Foundation
import GRDB

/// Decides what events a submission is and folds them. Lives within one write transaction, `finish` comes before its commit.
final class Booker {
  let db: Database
  var events: EventWriter
  var evidence: EvidenceStore
  let projections: Projections
  let now: Int64
  /// Nil until there is something to ask.
  private var queue: LookupQueue?

  var policy: LedgerPolicy { projections.policy }

  init(_ db: Database, now: Int64) throws {
    self.db = db
    self.now = now
    events = try EventWriter(db, recordedAt: now)
    evidence = try EvidenceStore(db, recordedAt: now)
    projections = try Projections(db, policy: Self.policy(db))
  }

  static func policy(_ db: Database) throws -> LedgerPolicy {
    var policy = LedgerPolicy()
    for (name, value) in try SQLStatement(db, "SELECT name, value FROM policy").all({ ($0.text(0), $0.text(1)) }) {
      // Values of later versions are kept in the table and mean nothing to this one.
      try? policy.set(name, to: value)
    }
    return policy
  }

  /// Books an event of our own and folds it.
  ///
  /// - Returns: Its number, nil if there is such an event already.
  @discardableResult
  func append(_ content: EventContent, evidence: [UInt8]? = nil) throws -> Int64? {
    guard let seq = try events.append(content, evidence: evidence) else { return nil }
    try projections.apply(content, seq: seq)
    return seq
  }

  func lookups() throws -> LookupQueue {
    if let queue { return queue }
    let made = try LookupQueue(db, now: now)
    queue = made
    return made
  }

  func finish() throws { try projections.flush() }

  /// Books the facts of a piece; returns which of them are new.
  func book(_ facts: [PreparedFact], evidence: [UInt8]?) throws -> [Bool] {
    try facts.map { fact in
      guard try events.append(.transaction, key: fact.key, body: fact.body, evidence: evidence) != nil else {
        return false
      }
      try projections.join(fact.row, digest: fact.digest)
      if let decision = try decision(on: fact.row.key) { try append(decision, evidence: evidence) }
      return true
    }
  }

  /// Books that a person decides for a fact where nothing but the order of bytes, or an earlier decision, speaks against it.
  ///
  /// - Parameters:
  ///   - goal: What the book shall say.
  ///   - fields: Those that the decision is about.
  /// - Returns: Whether there was something to decide.
  func follow(
    _ fact: PreparedFact, in goal: TransactionRow, _ fields: [DescribedField] = DescribedField.allCases,
    evidence: [UInt8]?
  ) throws -> Bool {
    guard let row = try projections.row(fact.row.key),
      let revision = row.revision(toFollow: fact.row, in: goal, fields)
    else { return false }
    return try append(.amendment(fact.transaction, revision: revision), evidence: evidence) != nil
  }

  /// What a refund that is not whole asks the policy, all facts so far taken together.
  private func decision(on key: RowKey) throws -> EventContent? {
    guard let row = try projections.row(key), row.statement == .revoked, let refund = row.refund,
      !refund.isWhole(of: row.quantity)
    else { return nil }
    return .decision(
      key.transactionKey, revocationDate: refund.date, percentageMilli: refund.sharedMilli(of: row.quantity),
      policy: "partial-refund", value: policy.partialRefund.rawValue)
  }

  /// Sets what differs from the policies in force.
  func record(_ wanted: LedgerPolicy) throws {
    let select = try SQLStatement(db, "SELECT value, seq FROM policy WHERE name = ?")
    for (name, value) in wanted.settings {
      select.bind(1, name)
      let known = try select.first { ($0.text(0), $0.int(1)) }
      if known?.0 == value { continue }
      if let known, name == "environment" {
        throw LedgerError(
          .configuration, at: "policy environment",
          "the ledger is one of \(known.0) and stays it; use another file for \(value)")
      }
      try append(.policy(name: name, value: value, after: known?.1 ?? 0))
    }
  }
}
