import Support

/// Asks the questions of one pull, one after the other, and remembers which of them failed.
///
/// What concerns one subject is recorded and does not end the run; a quota ends the questions of its kind, because
/// stores count each kind by itself, and an outage of the whole store ends the run with an error.
struct QuestionRun {
  var report = PullReport()
  /// The kinds of questions of which the store accepts no more for now.
  private var over: Set<FailedQuestion.Kind> = []

  private let ledger: Ledger
  private let clock: LedgerClock
  private let settings: PullSettings
  private var failures: [Name: FailedQuestion]
  private var failedNow: Set<Name> = []
  private var subjects: Set<String> = []
  private var appsSaid: Set<String> = []
  private var hasAnswer = false
  private var outages = 0
  private var refusals = 0

  /// So many failed requests in a row, each of them repeated, are an outage.
  private static let outagesMax = 3
  /// So many refused subjects in a row, without an answer, are a permission or an address that is wrong.
  private static let refusalsMax = 50

  private struct Name: Hashable {
    var kind: FailedQuestion.Kind
    var key: TransactionKey
  }

  init(_ ledger: Ledger, _ clock: LedgerClock, _ settings: PullSettings) throws {
    self.ledger = ledger
    self.clock = clock
    self.settings = settings
    failures = Dictionary(
      try ledger.failedQuestions().map { (Name(kind: $0.kind, key: $0.key), $0) }, uniquingKeysWith: { $1 })
  }

  /// Whether the store accepts no more questions of a kind for now.
  func isOver(_ kinds: FailedQuestion.Kind...) -> Bool { !over.isDisjoint(with: kinds) }

  /// Whether a question is to be asked in this run: it did not fail lately.
  private func isDue(_ name: Name) -> Bool { failures[name]?.isDue(at: clock.now()) ?? true }

  /// Whether the subject was not asked about in this run.
  mutating func isNew(_ subject: String) -> Bool { subjects.insert(subject).inserted }

  /// The question if it failed in this run.
  func failure(_ kind: FailedQuestion.Kind, _ key: TransactionKey) -> FailedQuestion? {
    let name = Name(kind: kind, key: key)
    return failedNow.contains(name) ? failures[name] : nil
  }

  /// Whether an answer is missing that a later pull may get.
  var isUnsettled: Bool { failedNow.contains { $0.kind != .acknowledgement && failures[$0]?.isUnknown == false } }

  /// The questions that failed in earlier runs and are due, as questions of their own.
  func failedBefore(
    _ kinds: Set<FailedQuestion.Kind>, of store: Store, _ environment: StoreEnvironment
  ) -> [StoreQuestion] {
    let due = failures.values.filter {
      kinds.contains($0.kind) && $0.key.store == store && $0.key.environment == environment
        && $0.isDue(at: clock.now())
    }
    return due.sorted { $0.key.id < $1.key.id }.map {
      StoreQuestion(
        hint: LookupHint(key: $0.key, productID: nil, purchaseToken: nil), since: $0.firstAt, isKnown: $0.isKnown)
    }
  }

  /// Pulls a store's list of changes. Where the store refuses it, the run goes on with what it may ask.
  mutating func list(
    of store: Store, _ environment: StoreEnvironment, app: String?, _ pull: () async throws -> PullReport
  ) async throws {
    let key = TransactionKey(store: store, environment: environment, id: store.feedCursor(in: environment, of: app))
    let question = StoreQuestion(
      hint: LookupHint(key: key, productID: nil, purchaseToken: nil), since: clock.now())
    try await ask(.list, question, always: true, pull)
  }

  /// Asks the apps' clients one after the other until one knows the subject.
  ///
  /// - Returns: Whether the store has answered; false where there is no client.
  @discardableResult
  mutating func ask<Client>(
    _ kind: FailedQuestion.Kind, _ question: StoreQuestion, always: Bool, of clients: [Client],
    _ send: (Client) async throws -> PullReport
  ) async throws -> Bool {
    guard let last = clients.last else { return false }
    return try await ask(kind, question, always: always) {
      for client in clients.dropLast() {
        do { return try await send(client) } catch let error as LedgerError {
          // Google refuses another app's token, and Apple does not know another app's transaction.
          guard [.notInStore, .storeRefusal].contains(error.code) else { throw error }
        }
      }
      return try await send(last)
    }
  }

  /// Asks a question unless it failed lately.
  ///
  /// - Parameter always: Asks it also then, and one that was given up.
  /// - Returns: Whether the store has answered.
  /// - Throws: `LedgerError` with code `store` for an outage, and what the ledger throws.
  @discardableResult
  mutating func ask(
    _ kind: FailedQuestion.Kind, _ question: StoreQuestion, always: Bool, _ send: () async throws -> PullReport
  ) async throws -> Bool {
    let name = Name(kind: kind, key: question.key)
    if isOver(kind) || !(always || isDue(name)) { return false }
    do {
      let answer = try await send()
      report.add(answer)
      (hasAnswer, outages, refusals) = (true, 0, 0)
      failedNow.remove(name)
      try await settle(name, question, answer)
      return true
    } catch let error as LedgerError where error.isOfStore {
      try await fail(name, question, error)
      return false
    }
  }

  /// Says, once for each app, that there are purchases of an app that the configuration does not name.
  mutating func noteUnknown(app: String, _ question: StoreQuestion) {
    guard appsSaid.insert(app).inserted else { return }
    report.refusals.append(
      VerificationError(
        question.key.store == .apple ? .wrongBundle : .wrongPackage,
        "\(question.key.id) is of the app \(app), which is not asked about",
        remedy: "add it to \(question.key.store == .apple ? "bundleId" : "packageName")"))
  }

  /// Asks about the prices of several orders at once. A store that does not know one of them answers nothing, so halves
  /// are asked then.
  ///
  /// - Parameter send: Sends the question; its answer has the facts.
  mutating func askPrices(
    of questions: [StoreQuestion], _ send: ([StoreQuestion]) async throws -> PullReport
  ) async throws {
    let questions = questions.filter { isDue(Name(kind: .order, key: $0.key)) }
    guard let first = questions.first, !isOver(.order) else { return }
    do {
      let answer = try await send(questions)
      report.add(answer)
      (hasAnswer, outages, refusals) = (true, 0, 0)
      let priced = Set(answer.facts.filter { $0.price != nil }.map(\.key))
      for question in questions {
        let name = Name(kind: .order, key: question.key)
        guard priced.contains(question.key) else {
          try await fail(
            name, question,
            LedgerError(.notInStore, at: question.order, "the store's answer states no price of it that can be used"))
          continue
        }
        if failures[name] != nil { try await settle(name, question, PullReport()) }
      }
    } catch let error as LedgerError where error.isOfStore {
      if error.code == .notInStore, Set(questions.map(\.order)).count > 1 {
        let half = questions.count / 2
        try await askPrices(of: Array(questions[..<half]), send)
        return try await askPrices(of: Array(questions[half...]), send)
      }
      try await fail(Name(kind: .order, key: first.key), first, error)
      // A permission that is missing is not the order's fault: the others would fail alike.
      if error.code != .notInStore { over.insert(.order) }
    }
  }

  /// Drops questions of a kind that need no answer any more.
  mutating func drop(
    _ kind: FailedQuestion.Kind, except open: Set<TransactionKey>, of environment: StoreEnvironment
  ) async throws {
    for name in failures.keys
    where name.kind == kind && name.key.environment == environment && !open.contains(name.key) {
      failures[name] = nil
      guard let key = RowKey(name.key) else { continue }
      try await ledger.commits.perform { try $0.removeFailure(of: kind, key) }
    }
  }

  /// Drops a question that cannot be asked.
  func drop(_ question: StoreQuestion) async throws {
    guard let key = RowKey(question.key) else { return }
    try await ledger.commits.perform { try $0.lookups().drop(key) }
  }

  /// Says that a purchase was not acknowledged in time.
  mutating func noteOverdue(_ question: StoreQuestion) {
    let time = TimeText.minute(QuestionQueue.deadline(ofPurchaseAt: question.since))
    report.refusals.append(
      VerificationError(.storeRefused, "\(question.key.id) is not acknowledged, which was due by \(time)"))
  }

  // MARK: Answers and failures

  private mutating func settle(_ name: Name, _ question: StoreQuestion, _ answer: PullReport) async throws {
    let hadFailed = failures.removeValue(forKey: name) != nil
    guard let key = RowKey(question.key) else { return }
    let kind = name.kind
    let (facts, isPending) = (answer.facts, answer.isPending)
    try await ledger.commits.perform { recorder in
      if hadFailed { try recorder.removeFailure(of: kind, key) }
      switch kind {
      case .list, .history, .order: break
      case .refunds: try recorder.lookups().remove(key)
      case .purchase:
        try recorder.lookups().remove(key)
        // What is paid later is asked about again.
        if isPending { try recorder.lookups().ask(question.hint) }
        try recorder.moveClaimants(of: key, to: facts)
        if facts.contains(where: \.isAcknowledged) {
          try recorder.acknowledge(key)
          try recorder.removeFailure(of: .acknowledgement, key)
        }
      case .acknowledgement: try recorder.acknowledge(key)
      }
    }
  }

  private mutating func fail(_ name: Name, _ question: StoreQuestion, _ error: LedgerError) async throws {
    if error.code == .storeQuota {
      over.insert(name.kind)
      report.refusals.append(
        VerificationError(
          .retryLater,
          "the store's quota is used up (\(name.kind.name)); the next pull asks what is left (\(error.message))"))
      return
    }
    outages = error.code == .store ? outages + 1 : 0
    // Before the first answer, and for a list, it is not one subject that is to blame.
    if error.code == .store, name.kind != .order, !hasAnswer || outages >= Self.outagesMax || name.kind == .list {
      throw error
    }
    refusals = error.code == .storeRefusal ? refusals + 1 : 0
    if refusals >= Self.refusalsMax { throw error }
    let now = clock.now()
    var failure =
      failures[name]
      ?? FailedQuestion(
        kind: name.kind, key: name.key, firstAt: now, lastAt: now, nextAt: now, reason: "", isKnown: question.isKnown)
    let isUnknown = error.code == .notInStore
    failure.fail(
      at: now, because: error.message, isUnknown: isUnknown,
      limit: isUnknown ? settings.unknownMax : settings.attemptsMax)
    failures[name] = failure
    failedNow.insert(name)
    report.refusals.append(VerificationError(.storeRefused, "\(error)"))
    let failed = failure
    try await ledger.commits.perform { recorder in
      // What the store says of the purchase tells why: it may be acknowledged already, or refunded.
      if failed.kind == .acknowledgement, failed.isUnknown, failed.attempts == 1, !question.isSubscription {
        try recorder.lookups().ask(question.hint)
      }
      // The store has said often enough that it does not know what only a message named.
      if failed.nextAt == nil, failed.isUnknown, !question.isKnown, let key = RowKey(failed.key) {
        try recorder.lookups().drop(key)
      } else {
        try recorder.write(failed)
      }
    }
  }
}

extension LedgerError {
  fileprivate var isOfStore: Bool { [.store, .notInStore, .storeRefusal, .storeQuota].contains(code) }
}

extension EvidenceRecorder {
  /// Records that a purchase is acknowledged, unless that is known.
  fileprivate func acknowledge(_ key: RowKey) throws {
    guard let row = try projections.row(key), !row.isAcknowledged else { return }
    try append(.acknowledgement(key.transactionKey))
  }
}

// MARK: - Questions about everything

/// How far a pull that asks about everything has come, in the order of the ids. A run that a quota or an outage ends
/// leaves its position, behind which the next one goes on.
struct QuestionRound {
  private let ledger: Ledger
  private let name: String
  private var last: String?
  /// Whether every question of the round was answered.
  private var isWhole = true
  /// The questions of this run.
  private(set) var count = 0

  init(_ ledger: Ledger, _ store: Store, _ environment: StoreEnvironment) throws {
    self.ledger = ledger
    name = "everyone.\(store.rawValue).\(environment.rawValue)"
    // `whole` or `part`, a space and the id.
    let stored = try ledger.readStatement {
      try Snapshot.cursor(self.name, $0)?.value.split(separator: " ", maxSplits: 1)
    }
    guard let stored, stored.count == 2 else { return }
    isWhole = stored[0] == "whole"
    last = String(stored[1])
  }

  /// The questions behind the position.
  mutating func rest(of all: [StoreQuestion]) -> [StoreQuestion] {
    let rest = last.map { last in all.filter { $0.key.id > last } } ?? all
    count = rest.count
    return rest
  }

  /// Remembers that a question was asked.
  mutating func pass(_ id: String, _ run: QuestionRun) async throws {
    isWhole = isWhole && !run.isUnsettled
    let (name, value) = (name, "\(isWhole ? "whole" : "part") \(id)")
    try await ledger.commits.perform { try $0.setCursor(name, to: value) }
  }

  /// Ends the round; the next one begins at the first id.
  ///
  /// - Returns: Whether every question was answered.
  func end() async throws -> Bool {
    let name = name
    try await ledger.commits.perform { try $0.removeCursor(name) }
    return isWhole
  }
}
