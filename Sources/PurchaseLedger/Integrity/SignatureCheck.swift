import Support

extension Ledger {
  /// Checks every signature again, and that each event states what its evidence states, signed or not.
  /// The context of Google's evidence is taken from the event itself, because it is stored nowhere else.
  ///
  /// - Parameters:
  ///   - verifier: Has the root certificates and keys to which the evidence must chain.
  ///   - report: The report of `verify`, to which findings are added.
  ///   - progress: Receives the number of statements checked, and the total.
  /// - Complexity: O(evidence) on all cores, in constant memory.
  package func verifySignatures(
    with verifier: EvidenceVerifier, into report: inout VerifyReport, progress: (Int, Int) -> Void = { _, _ in }
  ) async throws {
    let check = SignatureCheck(ledger: self, verifier: verifier, environment: try policy.environment)
    try await check.run(&report, progress: progress)
  }

  /// The kinds of evidence in the ledger.
  package func kindsOfEvidence() throws -> Set<EvidenceKind> {
    try readStatement { db in
      Set(
        try db.cached("SELECT DISTINCT kind FROM evidence").all {
          EvidenceKind(rawValue: UInt8(truncatingIfNeeded: $0.int64(0)))
        }.compactMap(\.self))
    }
  }
}

/// Checks, in batches, the events, then the evidence that no event states facts of, then the snapshot.
private struct SignatureCheck: Sendable {
  let ledger: Ledger
  let verifier: EvidenceVerifier
  /// The ledger's environment, for messages that name none.
  let environment: StoreEnvironment

  private static let batch: Int64 = 2048
  /// The reason is not compared.
  private static let anyReason = VerificationError(.inconsistent, "")

  /// A row that states something on behalf of evidence.
  private struct Statement: Sendable {
    var location: String
    var sha256: [UInt8]
    /// What the evidence must state; nil for evidence without such a row.
    var claim: Claim?
    /// Whether the row claims the store's signature.
    var isSigned = false
    /// The context of the evidence as far as the row tells it; nil if the row tells nothing.
    var context: EvidenceContext?

    /// What a row says that its evidence states.
    enum Claim: Sendable, Hashable {
      /// The event with this body.
      case event(EventKey)
      /// A transaction of this key.
      case transaction(TransactionKey)
      /// What a quarantine event says of its evidence, without the reason, which depends on the clock and the settings
      /// of its time.
      case waiting(EvidenceKind, TransactionKey?, signedDate: Int64?, note: String?)
    }

    /// Evidence without a row that states facts of it.
    init(location: String, sha256: [UInt8]) {
      self.location = location
      self.sha256 = sha256
    }

    init(location: String, sha256: [UInt8], fact: StoreTransaction) {
      self.init(location: location, sha256: sha256)
      // An amendment repeats a fact, so its evidence must state that fact.
      claim = .event(PreparedFact(fact, isKnown: true).key)
      isSigned = fact.trust == .signed
      var context = EvidenceContext(
        productID: fact.productID, purchaseToken: fact.purchaseToken, environment: fact.environment)
      context.purchaseDate = fact.purchaseDate
      self.context = context
    }

    /// - Parameter content: Nil for an event that cannot be decoded, which `verify` has reported.
    init(location: String, sha256: [UInt8], content: EventContent?) {
      if let fact = content?.fact {
        self.init(location: location, sha256: sha256, fact: fact)
        return
      }
      self.init(location: location, sha256: sha256)
      switch content {
      case .notification(let message)?:
        claim = .event(Self.key(of: .notification(message)))
        context = Self.context(of: message.transaction, in: message.environment)
      case .claim(let key, _, _, _)?, .decision(let key, _, _, _, _)?, .correction(_, _, let key)?:
        claim = .transaction(key)
        context = Self.context(of: key, in: key.environment)
      case .trait(let trait)?:
        claim = .event(Self.key(of: .trait(trait)))
        var context = Self.context(of: trait.key, in: trait.key.environment)
        if trait.name == .app { context.packageName = trait.value }
        self.context = context
      case .quarantine(let kind, _, let key, let signedDate, let note)?:
        claim = .waiting(kind, key, signedDate: signedDate, note: note)
        context = Self.context(of: key, in: key?.environment)
      default: break
      }
    }

    /// The context for what does not depend on the product, which only the event of a fact names: any will do.
    private static func context(of key: TransactionKey?, in environment: StoreEnvironment?) -> EvidenceContext {
      EvidenceContext(productID: "any", purchaseToken: key?.id, environment: environment)
    }

    /// A key of the whole body: the key under which a notification is recorded once covers its id only.
    static func key(of content: EventContent) -> EventKey { EventKey(type: content.type, fields: content.body) }
  }

  /// The result of verifying a piece of evidence again.
  private struct Verdict: Sendable {
    var id: Int64
    var kind: EvidenceKind?
    var refusal: VerificationError?
    /// What it states, in the contexts of the rows that name it.
    var claims: Set<Statement.Claim> = []
    /// Whether it counts as recorded although one of its facts is not.
    var isPartlyBooked = false

    var isBad: Bool { refusal != nil || isPartlyBooked }

    func states(_ claim: Statement.Claim) -> Bool {
      guard case .waiting(let kind, let key, let signedDate, let note) = claim else { return claims.contains(claim) }
      return claims.contains { stated in
        guard case .waiting(kind, let statedKey, let statedDate, let statedNote) = stated else { return false }
        // Earlier versions decoded less of some evidence.
        return (key ?? statedKey) == statedKey && (signedDate ?? statedDate) == statedDate
          && (note ?? statedNote) == statedNote
      }
    }
  }

  func run(_ report: inout VerifyReport, progress: (Int, Int) -> Void) async throws {
    let total = try count()
    var done = 0
    var named: Set<Int64> = []
    func check(_ statements: [Statement]) async throws {
      let verdicts = try await verdicts(on: statements)
      for verdict in verdicts.values.sorted(by: { $0.id < $1.id }) where verdict.isBad {
        if named.insert(verdict.id).inserted { Self.judge(verdict, &report) }
      }
      for statement in statements { Self.judge(statement, verdicts[statement.sha256], &report) }
      done += statements.count
      progress(min(done, total), total)
    }
    var last: Int64 = 0
    while let page = try events(after: last) {
      last = page.last
      try await check(page.statements)
    }
    last = 0
    while let page = try evidence(after: last) {
      last = page.last
      try await check(page.statements)
    }
    var key = RowKey(store: 0, environment: 0, id: "")
    while let page = try snapshot(after: key) {
      key = page.last
      try await check(page.statements)
    }
    report.signatures = try signedPieces()
    progress(total, total)
  }

  // MARK: Judging

  private static func judge(_ verdict: Verdict, _ report: inout VerifyReport) {
    if let refusal = verdict.refusal {
      report.find("evidence \(verdict.id)", "does not verify: \(refusal)")
    } else if verdict.isPartlyBooked {
      report.find("evidence \(verdict.id)", "counts as recorded, but states a fact that no event states")
    }
  }

  private static func judge(_ statement: Statement, _ verdict: Verdict?, _ report: inout VerifyReport) {
    if statement.sha256.isEmpty { return report.find(statement.location, "names no evidence for what it states") }
    // Missing evidence and evidence that does not verify have been reported.
    guard let verdict, verdict.refusal == nil else { return }
    if statement.isSigned, verdict.kind?.isSigned != true {
      report.find(statement.location, "claims the store's signature, but its evidence has none")
    } else if let claim = statement.claim, !verdict.states(claim) {
      report.find(statement.location, "does not match its evidence")
    }
  }

  // MARK: Verifying

  private func verdicts(on statements: [Statement]) async throws -> [[UInt8]: Verdict] {
    let contexts = Dictionary(grouping: statements, by: \.sha256).mapValues { Set($0.compactMap(\.context)) }
    let digests = Array(contexts)
    let workers = max(1, min(Processors.count, digests.count / 16))
    let share = max(1, (digests.count + workers - 1) / workers)
    return try await withThrowingTaskGroup(of: [([UInt8], Verdict)].self) { group in
      for start in stride(from: 0, to: digests.count, by: share) {
        let part = digests[start..<min(start + share, digests.count)]
        group.addTask {
          var verdicts: [([UInt8], Verdict)] = []
          for (digest, contexts) in part {
            if let verdict = try await verdict(on: digest, in: contexts) { verdicts.append((digest, verdict)) }
          }
          return verdicts
        }
      }
      return try await group.reduce(into: [:]) { all, part in
        for (digest, verdict) in part { all[digest] = verdict }
      }
    }
  }

  private func verdict(on sha256: [UInt8], in contexts: Set<EvidenceContext>) async throws -> Verdict? {
    let kept: (id: Int64, kind: Int64, isBooked: Bool, isWaiting: Bool, bytes: [UInt8])? = try ledger.readStatement {
      db in
      let select = try db.cached(
        """
        SELECT e.id, e.kind, e.outcome = 1, e.outcome = 2, p.bytes, e.bytes
        FROM \(EvidenceRow.source) WHERE e.sha256 = ?
        """)
      select.bind(1, sha256)
      return try select.first {
        ($0.int64(0), $0.int64(1), $0.int64(2) != 0, $0.int64(3) != 0, $0.blob(4) + $0.blob(5))
      }
    }
    guard let kept else { return nil }
    var verdict = Verdict(id: kept.id, kind: EvidenceKind(rawValue: UInt8(truncatingIfNeeded: kept.kind)))
    // Evidence of an unknown kind states nothing, and unsigned evidence that no row names cannot be checked.
    guard let kind = verdict.kind, kind.isSigned || !contexts.isEmpty else { return verdict }
    var isWaiting = false
    /// The keys under which its facts are recorded once.
    var facts: Set<EventKey> = []
    do throws(VerificationError) {
      for (count, context) in self.contexts(contexts, for: kind).enumerated() {
        let content = try await verifier.read(
          kept.bytes, as: kind, context: context, at: ledger.clock.now(), trusted: count > 0)
        for fact in content.transactions where fact.environment.code != nil {
          verdict.claims.insert(.event(PreparedFact(fact, isKnown: true).key))
          verdict.claims.insert(.transaction(fact.key))
          facts.insert(PreparedFact(fact, isKnown: true).key)
        }
        for trait in content.allTraits {
          verdict.claims.insert(.event(Statement.key(of: .trait(trait))))
          verdict.claims.insert(.transaction(trait.key))
        }
        for fact in content.earlierTransactions where fact.environment.code != nil {
          verdict.claims.insert(.event(PreparedFact(fact, isKnown: true).key))
        }
        if let message = content.notification?.content(in: context.environment ?? environment) {
          verdict.claims.insert(.event(Statement.key(of: message)))
          facts.insert(message.key(body: []))
        }
        if case .quarantine(let kind, _, let key, let date, let note) = content.quarantineEvent(because: Self.anyReason)
        {
          verdict.claims.insert(.waiting(kind, key, signedDate: date, note: note))
        }
        isWaiting = content.quarantine != nil || !content.earlierTransactions.isEmpty
      }
    } catch {
      // Kept for a later version, which may read the form of its signature.
      if kept.isWaiting, VerificationError.Code.ofForm.contains(error.code) {
        verdict.claims.insert(.waiting(kind, nil, signedDate: nil, note: nil))
        return verdict
      }
      verdict.refusal = error
      return verdict
    }
    if kept.isBooked, kind.isSigned, kind.isWhole, !isWaiting { verdict.isPartlyBooked = try !areBooked(facts) }
    return verdict
  }

  /// The contexts in which to decode evidence. Only Google's products and orders need more than the environment.
  private func contexts(_ stated: Set<EvidenceContext>, for kind: EvidenceKind) -> Set<EvidenceContext> {
    if stated.isEmpty { return [EvidenceContext(environment: environment)] }
    return [.googleProduct, .googleOrder].contains(kind)
      ? stated : Set(stated.map { EvidenceContext(packageName: $0.packageName, environment: $0.environment) })
  }

  private func areBooked(_ keys: Set<EventKey>) throws -> Bool {
    try ledger.readStatement { db in
      let select = try db.cached("SELECT 1 FROM event WHERE key = ?")
      return try keys.allSatisfy { key in
        select.bind(1, key.bytes)
        return try select.first { _ in true } != nil
      }
    }
  }

  // MARK: Reading

  /// Events that say something of evidence that they name; a fact or notification must name some.
  private static let statingEvents = """
    event WHERE type IN \(EventType.list(EventType.evidential))
    AND (evidence IS NOT NULL OR type IN \(EventType.list(EventType.stating)))
    """
  /// Evidence that is not named by such an event.
  private static let silentEvidence = """
    evidence AS e LEFT JOIN event AS v ON v.seq = e.event AND v.evidence = e.sha256
      AND v.type IN \(EventType.list(EventType.stating)) WHERE v.seq IS NULL
    """

  /// The pieces of evidence that have a signature: each of them is named by an event or checked on its own.
  private func signedPieces() throws -> Int {
    let kinds = EvidenceKind.allCases.filter(\.isSigned).map { "\($0.rawValue)" }.joined(separator: ", ")
    return try ledger.readStatement { db in
      try db.cached("SELECT count(*) FROM evidence WHERE kind IN (\(kinds))").first { Int($0.int64(0)) } ?? 0
    }
  }

  private func count() throws -> Int {
    try ledger.readStatement { db in
      try [Self.statingEvents, Self.silentEvidence, "store_snapshot"].reduce(0) { total, rows in
        total + (try db.cached("SELECT count(*) FROM \(rows)").first { Int($0.int64(0)) } ?? 0)
      }
    }
  }

  private func events(after seq: Int64) throws -> (statements: [Statement], last: Int64)? {
    try ledger.readStatement { db in
      let select = try db.cached(
        """
        SELECT \(LedgerEvent.columns) FROM \(Self.statingEvents) AND seq > ? ORDER BY seq LIMIT \(Self.batch)
        """)
      select.bind(1, seq)
      var last = seq
      let statements = try select.all { row -> Statement in
        last = row.int64(0)
        return Statement(
          location: "event \(last)", sha256: row.blob(5), content: (try? LedgerEvent(row, in: ledger.path))?.content)
      }
      return statements.isEmpty ? nil : (statements, last)
    }
  }

  private func evidence(after id: Int64) throws -> (statements: [Statement], last: Int64)? {
    try ledger.readStatement { db in
      let select = try db.cached(
        "SELECT e.id, e.sha256 FROM \(Self.silentEvidence) AND e.id > ? ORDER BY e.id LIMIT \(Self.batch)")
      select.bind(1, id)
      var last = id
      let statements = try select.all { row -> Statement in
        last = row.int64(0)
        return Statement(location: "evidence \(last)", sha256: row.blob(1))
      }
      return statements.isEmpty ? nil : (statements, last)
    }
  }

  private func snapshot(after key: RowKey) throws -> (statements: [Statement], last: RowKey)? {
    try ledger.readStatement { db in
      let select = try db.cached(
        """
        SELECT store, environment, transaction_id, fact, evidence FROM store_snapshot
        WHERE (store, environment, transaction_id) > (?, ?, ?) ORDER BY store, environment, transaction_id
        LIMIT \(Self.batch)
        """)
      select.bind(1, key)
      var last: RowKey?
      let statements = try select.all { row -> [Statement] in
        let key = RowKey(row)
        last = key
        let entries = (try? SnapshotFacts(bodies: row.blob(3), digests: row.blob(4)))?.entries ?? []
        return entries.map {
          Statement(
            location: "store_snapshot \(key.store)/\(key.environment)/\(key.id)", sha256: $0.evidence,
            fact: $0.fact.transaction)
        }
      }
      return last.map { (statements.flatMap(\.self), $0) }
    }
  }
}
