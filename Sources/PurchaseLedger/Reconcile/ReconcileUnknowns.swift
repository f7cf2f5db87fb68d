import Support

/// What a comparison with pulled records cannot know. While there is any of it, store and ledger do not count as
/// agreeing, however equal they are.
package struct ReconcileUnknown: Sendable, Hashable {
  /// Why it cannot be known.
  package enum Code: String, Sendable, Hashable, CaseIterable {
    /// The ledger has transactions of a store that was never pulled.
    case notPulled = "not-pulled"
    /// The records were pulled too long ago.
    case stale
    /// A pull was made with a clock that was ahead: what happened until then was not read.
    case clock
    /// The file is a restored backup: what was recorded after it is missing.
    case restored
  }

  /// Why it cannot be known.
  package var code: Code
  /// The store; nil if it concerns the whole ledger.
  package var store: Store?
  /// What is not known, and what to do, starting in lower case.
  package var message: String

  var json: JSONObjectWriter {
    var object = JSONObjectWriter()
    object.add("code", code.rawValue)
    object.add("store", store?.rawValue)
    object.add("message", message)
    return object
  }
}

/// Finds out what a comparison cannot know, from the times at which records were pulled and events recorded.
struct ReconcileUnknowns {
  private let db: SQLiteConnection
  private let now: Int64
  private let ageMax: Int64
  private let environment: StoreEnvironment

  init(_ db: SQLiteConnection, now: Int64, ageMax: Int64) throws {
    self.db = db
    self.now = now
    self.ageMax = ageMax
    environment = try EvidenceRecorder.policy(db).environment
  }

  func find(in scopes: [ReconcileReport.Scope]) throws -> [ReconcileUnknown] {
    var found: [ReconcileUnknown] = []
    for store in Store.allCases {
      let name = store.rawValue
      guard let scope = scopes.first(where: { $0.store == store && $0.environment == environment }) else {
        let count = try transactions(of: store)
        guard count > 0 else { continue }
        let message = "\(name): nothing was pulled, so \(count) of the ledger's transactions were not compared; "
        found.append(.init(code: .notPulled, store: store, message: message + "run pull --store \(name)"))
        continue
      }
      guard let readTo = scope.readTo else { continue }
      if readTo > now + Snapshot.clockTolerance {
        found.append(
          .init(
            code: .clock, store: store,
            message: """
              \(name): the last pull was at \(TimeText.minute(readTo)), which is in the future: the clock was \
              or is wrong, and what happened since may be missing; correct the clock, then run pull --store \(name)
              """))
      } else if now - readTo > ageMax {
        found.append(
          .init(
            code: .stale, store: store,
            message: """
              \(name): the records were pulled \(TimeText.age(now - readTo)) ago, and what happened since \
              is not in them; run pull --store \(name)
              """))
      }
      if let made = try backupTime(), (scope.coveredAt ?? 0) <= made {
        found.append(
          .init(
            code: .restored, store: store,
            message: """
              \(name): this ledger is a backup of \(TimeText.minute(made)): what was recorded after it is missing; \
              run pull --store \(name) --all, then reconcile --apply
              """))
      }
    }
    return found
  }

  private func transactions(of store: Store) throws -> Int {
    let select = try db.cached("SELECT count(*) FROM store_transaction WHERE store = ? AND environment = ?")
    select.bind(1, store.code)
    select.bind(2, environment.code ?? 0)
    return try select.first { Int($0.int64(0)) } ?? 0
  }

  private func backupTime() throws -> Int64? {
    try Snapshot.cursor(Ledger.backupMade, db).flatMap { Int64($0.value) }
  }
}
