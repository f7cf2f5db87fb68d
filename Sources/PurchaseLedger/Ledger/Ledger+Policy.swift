import Support

/// What other policies do to a ledger.
package struct PolicyChange: Sendable, Hashable {
  package struct Setting: Sendable, Hashable {
    package let name: String
    package let present: String
    package let wanted: String
  }

  /// How many entitlements go from one status to another.
  package struct Move: Sendable, Hashable {
    package let from: Entitlement.Status
    package let to: Entitlement.Status
    package let count: Int
  }

  /// The policies that differ.
  package let settings: [Setting]
  package let moves: [Move]

  /// Entitlements that end.
  package var endingCount: Int { moves.filter { $0.from == .active }.reduce(0) { $0 + $1.count } }
  /// Entitlements that begin.
  package var beginningCount: Int { moves.filter { $0.to == .active }.reduce(0) { $0 + $1.count } }
}

extension LedgerPolicy {
  /// The settings that differ from those in force.
  package func differences(from present: LedgerPolicy) -> [PolicyChange.Setting] {
    zip(present.settings, settings).filter { $0.value != $1.value }
      .map { PolicyChange.Setting(name: $0.name, present: $0.value, wanted: $1.value) }
  }
}

extension Ledger {
  /// What policies would change; the ledger stays as it is.
  ///
  /// - Complexity: O(entitlements), with the ledger's write lock.
  package func effect(of policy: LedgerPolicy) throws -> PolicyChange {
    do {
      return try write { throw TriedOut(change: try Self.change(to: policy, $0)) }
    } catch let result as TriedOut {
      return result.change
    }
  }

  /// Brings policies into force, and says what they changed.
  ///
  /// - Throws: `LedgerError` if the environment differs from the ledger's.
  package func change(to policy: LedgerPolicy) throws -> PolicyChange {
    try write { try Self.change(to: policy, $0) }
  }

  /// Ends a transaction that nothing is to be kept of.
  private struct TriedOut: Error { let change: PolicyChange }

  private static func change(to policy: LedgerPolicy, _ recorder: EvidenceRecorder) throws -> PolicyChange {
    let db = recorder.db
    let settings = policy.differences(from: recorder.policy)
    guard !settings.isEmpty else { return PolicyChange(settings: [], moves: []) }
    try db.execute(
      """
      CREATE TEMP TABLE before (store, environment, original_id, status, PRIMARY KEY (store, environment, original_id))
      WITHOUT ROWID;
      INSERT INTO temp.before SELECT store, environment, original_id, status FROM main.entitlement;
      """)
    try recorder.record(policy)
    let moves = try db.prepare(
      """
      SELECT b.status, e.status, count(*) FROM main.entitlement AS e
      JOIN temp.before AS b USING (store, environment, original_id) WHERE b.status <> e.status GROUP BY 1, 2
      """
    ).all { row -> PolicyChange.Move? in
      guard let from = Entitlement.Status(rawValue: UInt8(row.int64(0))),
        let to = Entitlement.Status(rawValue: UInt8(row.int64(1)))
      else { return nil }
      return PolicyChange.Move(from: from, to: to, count: row.int(2))
    }
    try db.execute("DROP TABLE temp.before")
    return PolicyChange(settings: settings, moves: moves.compactMap(\.self))
  }
}
