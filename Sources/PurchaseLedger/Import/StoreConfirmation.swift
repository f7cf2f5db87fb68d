import Support
import Synchronization

/// Asks the stores about purchases that an app submits, before they are granted: what was refunded long ago is still
/// properly signed.
///
/// 1. Of the purchases of verified evidence those are asked about that the store has not confirmed yet.
/// 2. The store has a few seconds. After failures in a row it is left alone for a while, so that a store that is down
///    or slow delays few submissions.
/// 3. What it answers is recorded with the submission, in one commit. Without a definite answer a purchase counts as
///    unconfirmed: it is granted, `queue` lists it, and pulls ask about it again.
package final class StoreConfirmation: Sendable {
  private let apple: [AppStoreClient]
  private let google: [GooglePlayClient]
  private let seconds: Double
  private let listener = Mutex<(@Sendable (String, any Error) -> Void)?>(nil)
  private let states = Mutex<[Store: State]>([:])

  private struct State {
    var inFlight = 0
    /// Failures since the last answer.
    var failures = 0
    /// Until when the store is not asked, on the monotonic clock.
    var pausedUntil = 0.0
  }

  /// For clients that are made for it: a submission waits for no long retry.
  package static let retry = RetryPolicy(
    attemptsMax: 2, firstDelay: 0.05, delayMax: 0.2, retryAfterMax: 0, timeout: answerSeconds)
  /// Requests per second; each store allows 50.
  package static let rate = 40.0
  package static let answerSeconds = 3.0
  private static let failuresMax = 3
  private static let pauseSeconds = 10.0
  private static let inFlightMax = 64

  /// - Parameters:
  ///   - apple: A client for each app; none where Apple is not asked. So for Google.
  ///   - seconds: How long a submission waits.
  package init(apple: [AppStoreClient], google: [GooglePlayClient], seconds: Double = answerSeconds) {
    (self.apple, self.google, self.seconds) = (apple, google, seconds)
  }

  /// Says from now on why a store gave no answer.
  package func report(to listener: @escaping @Sendable (String, any Error) -> Void) {
    self.listener.withLock { $0 = listener }
  }

  /// The stores that are asked.
  package var stores: [Store] { (apple.isEmpty ? [] : [.apple]) + (google.isEmpty ? [] : [.google]) }

  package func shutdown() async {
    for client in apple { try? await client.shutdown() }
    for client in google { try? await client.shutdown() }
  }

  // MARK: Asking

  /// What the stores say of purchases; those without a definite answer are missing.
  fileprivate func answers(about purchases: [StoreTransaction]) async -> [(TransactionKey, SnapshotPage)] {
    await withTaskGroup(of: (TransactionKey, SnapshotPage)?.self) { group in
      for purchase in purchases {
        group.addTask { await self.answer(about: purchase).map { (purchase.key, $0) } }
      }
      return await group.reduce(into: []) { all, answer in if let answer { all.append(answer) } }
    }
  }

  private func answer(about purchase: StoreTransaction) async -> SnapshotPage? {
    let store = purchase.store
    guard begin(store) else { return nil }
    do {
      let page = try await Deadline(after: seconds).run { try await self.ask(purchase) }
      end(store, isFailure: false)
      // The store's word on the purchase is definite where it names it, also as a test of the sandbox.
      return page.evidence.contains { entry in
        entry.content.quarantine == nil
          && entry.content.transactions.contains { $0.store == store && $0.transactionID == purchase.transactionID }
      } ? page : nil
    } catch let error as LedgerError where error.code == .notInStore {
      // It may be too new there.
      end(store, isFailure: false)
      return nil
    } catch {
      end(store, isFailure: true)
      let reason = (error as? LedgerError).map { "\($0)" } ?? "no answer within \(Int(seconds)) s"
      let text = "\(store.rawValue) \(purchase.transactionID) is granted unconfirmed: \(reason)"
      listener.withLock(\.self)?(text, error)
      return nil
    }
  }

  private func ask(_ purchase: StoreTransaction) async throws -> SnapshotPage {
    switch purchase.store {
    case .apple: try await first(apple) { try await $0.transaction(purchase.transactionID) }
    case .google:
      try await first(google) { client in
        try await client.product(
          purchase.productID, token: purchase.purchaseToken ?? "", bought: purchase.purchaseDate,
          ofSeveral: purchase.transactionID.contains("/")
        ).0
      }
    }
  }

  /// Asks the apps' clients one after the other until one knows the purchase.
  private func first<Client>(
    _ clients: [Client], _ ask: (Client) async throws -> SnapshotPage
  ) async throws -> SnapshotPage {
    for client in clients.dropLast() {
      do { return try await ask(client) } catch let error as LedgerError {
        guard [.notInStore, .storeRefusal].contains(error.code) else { throw error }
      }
    }
    guard let last = clients.last else { return SnapshotPage(evidence: [], cursor: nil) }
    return try await ask(last)
  }

  /// Whether a store is asked now.
  private func begin(_ store: Store) -> Bool {
    states.withLock { states in
      var state = states[store] ?? State()
      defer { states[store] = state }
      guard state.inFlight < Self.inFlightMax, state.pausedUntil <= MonotonicClock.seconds else { return false }
      state.inFlight += 1
      return true
    }
  }

  private func end(_ store: Store, isFailure: Bool) {
    states.withLock { states in
      var state = states[store] ?? State()
      state.inFlight -= 1
      state.failures = isFailure ? state.failures + 1 : 0
      if state.failures >= Self.failuresMax { state.pausedUntil = MonotonicClock.seconds + Self.pauseSeconds }
      states[store] = state
    }
  }

  /// Whether a purchase is asked about: one that a device presents with the store's signature, and that would grant.
  fileprivate func asks(about fact: StoreTransaction, in environment: StoreEnvironment) -> Bool {
    guard fact.trust == .signed, fact.environment == environment, fact.statement == .purchased else { return false }
    switch fact.store {
    case .apple: return !apple.isEmpty
    // Google keeps subscriptions at another address, and regions are not sold as such.
    case .google: return !google.isEmpty && fact.purchaseToken != nil && !fact.productType.isSubscription
    }
  }
}

extension Ledger {
  /// Records a prepared piece, with what the stores say of its purchases.
  package func book(_ piece: PreparedEvidence, confirmedBy confirmation: StoreConfirmation) async throws -> Booking {
    guard !piece.isWaiting, !piece.facts.isEmpty else { return try await book(piece) }
    let environment = try policy.environment
    let asked = try unconfirmed(
      piece.facts.map(\.transaction).filter { confirmation.asks(about: $0, in: environment) })
    guard !asked.isEmpty else { return try await book(piece) }
    let answers = await confirmation.answers(about: asked)
    let missing = Set(asked.map(\.key)).subtracting(answers.map(\.0))
    let pages = answers.map { ($0.1, Snapshot.prepared($0.1)) }
    return try await commits.perform { recorder in
      var booking = try recorder.book(piece)
      for (page, pieces) in pages {
        try Snapshot.store(page, pieces, recorder)
        for answer in pieces where !answer.isWaiting { _ = try recorder.book(answer.facts, evidence: answer.sha256) }
      }
      if !missing.isEmpty {
        booking.notes.append("unconfirmed")
        // Pulls find Google's by themselves.
        for key in missing where key.store == .apple {
          try recorder.lookups().ask(LookupHint(key: key, productID: nil, purchaseToken: nil))
        }
      }
      booking.entitlements = try recorder.entitlements(of: booking.transactions)
      return booking
    }
  }

  /// The purchases of which no pull or answer of the store's has told.
  private func unconfirmed(_ purchases: [StoreTransaction]) throws -> [StoreTransaction] {
    try readStatement { db in
      let select = try db.cached(
        """
        SELECT 1 FROM store_snapshot WHERE store = ? AND environment IN (1, 2) AND transaction_id = ?
        """)
      return try purchases.filter { purchase in
        select.bind(1, purchase.store.code)
        select.bind(2, purchase.transactionID)
        return try select.first { _ in true } == nil
      }
    }
  }
}
