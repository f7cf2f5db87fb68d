/// Pulls a store's transactions into the snapshot: notifications, refunds, and the questions that hints, gaps of the
/// voided list and unconfirmed purchases raise.
package struct StorePull: Sendable {
  private let ledger: Ledger
  private let snapshot: Snapshot
  private let environment: StoreEnvironment
  private let clock: LedgerClock
  private let hasSeveralApps: Bool
  private let settings: PullSettings

  package init(ledger: Ledger, clock: LedgerClock, settings: PullSettings = .init()) throws {
    self.ledger = ledger
    self.clock = clock
    hasSeveralApps = try ledger.readStatement { try !StoreQuestion.otherApps($0).isEmpty }
    self.settings = settings
    snapshot = Snapshot(of: ledger)
    environment = try ledger.policy.environment
  }

  /// Pulls Apple's notifications since a date, then the histories and refunds of customers: those that somebody names,
  /// those that queued questions are about, those whose question failed before, with `everyone` all.
  ///
  /// - Parameters:
  ///   - wanted: From when on notifications are read.
  ///   - everyone: Pulls the history of each customer, not only those of queued queries.
  ///   - transactions: Additional customers, each by the id of a transaction.
  package func apple(
    _ clients: [AppStoreClient], _ wanted: FeedStart = .next, everyone: Bool, transactions: [String],
    progress: (Int, Int) -> Void
  ) async throws -> PullReport {
    var run = try QuestionRun(ledger, clock, settings)
    for client in clients where !run.isOver(.list) {
      try await run.list(of: .apple, environment, app: client.otherApp) {
        try await client.pullNotifications(wanted, into: snapshot)
      }
    }
    // A gap of the history, also one that an earlier pull found and did not close.
    if try snapshot.lostWindow(of: .apple, environment) != nil { run.report.isWindowLost = true }
    let isWhole = everyone || run.report.isWindowLost
    let isAgain = if case .again = wanted { true } else { false }
    let hints = try ledger.readStatement(StoreQuestion.lookups).filter { isOwn($0, .apple) }
    let named = transactions.map { id in
      let key = TransactionKey(store: .apple, environment: environment, id: id)
      return StoreQuestion(hint: LookupHint(key: key, productID: nil, purchaseToken: nil), since: clock.now())
    }
    var round = try QuestionRound(ledger, .apple, environment)
    let all = isWhole ? try ledger.readStatement { try StoreQuestion.customers($0, of: .apple, in: environment) } : []
    let failed = run.failedBefore([.history, .refunds], of: .apple, environment)
    let questions = named + hints + failed + round.rest(of: all)
    for (index, question) in questions.enumerated() where !run.isOver(.history, .refunds) {
      defer { progress(index + 1, questions.count) }
      let isNamed = index < named.count
      let isOfRound = index >= questions.count - round.count
      if run.isNew(question.key.id) {
        let id = question.key.id
        let asked = try self.clients(clients, for: question, \.app, \.otherApp, &run)
        let isAnswered = try await run.ask(.history, question, always: isNamed || isOfRound, of: asked) {
          try await $0.pullHistory(of: id, again: isAgain, into: snapshot)
        }
        // Who has no history has no refunds.
        if isAnswered {
          try await run.ask(.refunds, question, always: true, of: asked) {
            try await $0.pullRefunds(of: id, again: isAgain, into: snapshot)
          }
        }
      }
      if isOfRound, !run.isOver(.history, .refunds) { try await round.pass(question.key.id, run) }
    }
    if isWhole, !run.isOver(.history, .refunds), try await round.end() {
      try snapshot.cover(.apple, environment, clockAhead: run.report.clockAhead)
      if !run.report.isHeld { try snapshot.closeLostWindow(of: .apple, environment) }
    }
    return run.report
  }

  /// Acknowledges, then pulls Google's voided list, then the state of purchases: of queued questions, of those whose
  /// question failed before, of those that the store has not confirmed, with `everyone` or a gap of the voided list
  /// all.
  ///
  /// - Parameter acknowledge: Acknowledges purchases to Google and records that.
  package func google(
    _ clients: [GooglePlayClient], _ wanted: FeedStart = .next, everyone: Bool, acknowledge: Bool,
    progress: (Int, Int) -> Void
  ) async throws -> PullReport {
    var run = try QuestionRun(ledger, clock, settings)
    // First, because of the deadline: Google refunds purchases that are not acknowledged.
    if acknowledge { try await acknowledgeAll(clients, &run, again: false) }
    for client in clients where !run.isOver(.list) {
      try await run.list(of: .google, environment, app: client.otherApp) {
        try await client.pullVoided(wanted, into: snapshot)
      }
    }
    // A gap that an earlier pull found and did not close.
    if try snapshot.lostWindow(of: .google, environment) != nil { run.report.isWindowLost = true }
    let hints = try ledger.readStatement(StoreQuestion.lookups).filter { isOwn($0, .google) }
    let unconfirmed = try ledger.readStatement { try StoreQuestion.unconfirmed($0, in: environment) }
    let isWhole = everyone || run.report.isWindowLost
    let failed = Set(run.failedBefore([.purchase], of: .google, environment).map(\.key))
    var round = try QuestionRound(ledger, .google, environment)
    let purchases =
      isWhole || !failed.isEmpty ? try ledger.readStatement { try StoreQuestion.purchases($0, in: environment) } : []
    let questions =
      hints + unconfirmed + purchases.filter { failed.contains($0.key) } + (isWhole ? round.rest(of: purchases) : [])
    let orders = Set(questions.filter(\.isOfSeveral).map(\.hint.purchaseToken))
    for (index, question) in questions.enumerated() where !run.isOver(.purchase) {
      progress(index + 1, questions.count)
      let isOfRound = index >= questions.count - round.count
      if let token = question.hint.purchaseToken, !question.isSubscription {
        let product = question.hint.productID.flatMap { $0.isEmpty ? nil : $0 }
        if run.isNew(token) {
          let asked = try self.clients(clients, for: question, \.packageName, \.otherApp, &run)
          try await run.ask(.purchase, question, always: isOfRound, of: asked) {
            try await $0.pullProduct(
              product, token: token, bought: question.bought, ofSeveral: orders.contains(token), into: snapshot)
          }
        }
      } else if index < hints.count {
        // A question without token cannot be sent, nor one about a subscription at this address.
        try await run.drop(question)
      }
      if isOfRound, !run.isOver(.purchase) { try await round.pass(question.key.id, run) }
    }
    // What is left of the failed acknowledgements; time has passed meanwhile.
    if acknowledge { try await acknowledgeAll(clients, &run, again: true) }
    try await askPrices(clients, &run)
    if isWhole, !run.isOver(.purchase), try await round.end() {
      try snapshot.cover(.google, environment, clockAhead: run.report.clockAhead)
      // Each purchase was queried, so the gap is closed unless an answer was quarantined.
      if !run.report.isHeld { try snapshot.closeLostWindow(of: .google, environment) }
    }
    return run.report
  }

  /// The clients of the app that a question is about: of the first app where nothing else is said of a recorded
  /// transaction, and all of them, one after the other, for one that is not recorded.
  private func clients<Client>(
    _ clients: [Client], for question: StoreQuestion, _ app: (Client) -> String, _ otherApp: (Client) -> String?,
    _ run: inout QuestionRun
  ) throws -> [Client] {
    guard clients.count > 1 || otherApp(clients[0]) != nil || hasSeveralApps else { return clients }
    let (named, isKnown) = try ledger.readStatement { try StoreQuestion.app(of: question.key, $0) }
    if let named {
      let own = clients.filter { app($0) == named }
      if own.isEmpty { run.noteUnknown(app: named, question) }
      return own
    }
    return isKnown ? clients.filter { otherApp($0) == nil } : clients
  }

  /// Orders in one question, so that its address stays short, and in one pull.
  private static let ordersOfQuestion = 100
  private static let ordersMax = 10_000

  /// Asks what was paid for purchases whose price nobody has stated, and records it: a price changes no grant. A refund
  /// that an order tells of waits in the snapshot for `reconcile`.
  private func askPrices(_ clients: [GooglePlayClient], _ run: inout QuestionRun) async throws {
    let unpriced = try ledger.readStatement {
      try StoreQuestion.unpriced($0, in: environment, limit: Self.ordersMax)
    }
    if unpriced.count < Self.ordersMax {
      try await run.drop(.order, except: Set(unpriced.map(\.key)), of: environment)
    }
    for client in clients {
      // Each app's orders are asked at its own address.
      let own = try unpriced.filter { question in
        try self.clients(clients, for: question, \.packageName, \.otherApp, &run).contains { $0 === client }
      }
      for start in stride(from: 0, to: own.count, by: Self.ordersOfQuestion) where !run.isOver(.order) {
        let batch = Array(own[start..<min(start + Self.ordersOfQuestion, own.count)])
        try await run.askPrices(of: batch) { questions in
          var bought: [String: Int64?] = [:]
          for question in questions { bought[question.order] = question.bought }
          var (page, report) = try await client.orders(bought.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
          try snapshot.store(page) { fact, row in fact.statement != .revoked || row.statement == .revoked }
          report.facts = page.evidence.filter { $0.content.quarantine == nil }.flatMap(\.content.transactions)
          report.pages += 1
          report.pieces += page.evidence.count
          return report
        }
      }
    }
  }

  private func isOwn(_ question: StoreQuestion, _ store: Store) -> Bool {
    question.key.store == store && question.key.environment == environment
  }

  /// - Parameter again: Only those that failed in this run, and says which are overdue.
  private func acknowledgeAll(
    _ clients: [GooglePlayClient], _ run: inout QuestionRun, again: Bool
  ) async throws {
    // The store's clock counts as soon as it is known. Without a delay no clock does: one that is days behind would
    // leave purchases to Google's refund.
    let time = clients[0].requests.clock.now
    let delay = Int64(try ledger.policy.acknowledgeAfterSeconds) * 1000
    let until = delay == 0 ? .max : time - delay
    // The products of one order share a token, and are acknowledged at once.
    var done: Set<String> = []
    let waiting = try ledger.readStatement { try StoreQuestion.unacknowledged($0, boughtUntil: until) }
    // A purchase may be refunded, or acknowledged by somebody else, meanwhile.
    if !again, until == .max {
      try await run.drop(.acknowledgement, except: Set(waiting.map(\.key)), of: environment)
    }
    for question in waiting {
      guard !run.isOver(.acknowledgement), let token = question.hint.purchaseToken,
        let product = question.hint.productID, !product.isEmpty
      else { continue }
      if again {
        guard let failure = run.failure(.acknowledgement, question.key) else {
          if QuestionQueue.deadline(ofPurchaseAt: question.since) < time { run.noteOverdue(question) }
          continue
        }
        // An answer of the store's about this purchase would be the same again.
        if failure.isUnknown { continue }
      }
      let asked = try self.clients(clients, for: question, \.packageName, \.otherApp, &run)
      let isAnswered = try await run.ask(.acknowledgement, question, always: again, of: asked) {
        if !done.contains(token) {
          try await $0.acknowledge(product, token: token, isSubscription: question.isSubscription)
        }
        return PullReport()
      }
      if isAnswered { done.insert(token) }
    }
  }
}

extension StorePull {
  /// The same of one app.
  package func apple(
    _ client: AppStoreClient, _ wanted: FeedStart = .next, everyone: Bool, transactions: [String],
    progress: (Int, Int) -> Void
  ) async throws -> PullReport {
    try await apple([client], wanted, everyone: everyone, transactions: transactions, progress: progress)
  }

  /// The same of one app.
  package func google(
    _ client: GooglePlayClient, _ wanted: FeedStart = .next, everyone: Bool, acknowledge: Bool,
    progress: (Int, Int) -> Void
  ) async throws -> PullReport {
    try await google([client], wanted, everyone: everyone, acknowledge: acknowledge, progress: progress)
  }
}
