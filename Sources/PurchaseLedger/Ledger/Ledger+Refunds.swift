import Support

/// Questions of the stores about refunds, and what may be answered.
extension Ledger {
  /// The kind of the audit events by which a store of maps notes what a device reports to have.
  package static let installed = "installed"

  /// The questions that may still be answered, the one due first first.
  package func refundQuestions() throws -> [RefundQuestion] {
    try readStatement { try RefundQuestion.open($0, at: clock.now()) }
  }

  /// What is known of a purchase for an answer.
  package struct RefundFacts: Sendable, Hashable {
    package var question: RefundQuestion
    package var productID: String?
    package var owner: AccountID?
    /// When the owner allowed answers, and by which text.
    package var consentDate: Int64?
    package var consentText: String?
    /// Whether a device has reported that it has the product. False says nothing: nobody reported it.
    package var isInstalled: Bool
  }

  /// - Throws: `LedgerError` if no open question is about the transaction.
  package func refundFacts(of transaction: String) throws -> RefundFacts {
    guard let question = try refundQuestions().first(where: { $0.key.id == transaction }) else {
      throw LedgerError(
        .input, at: transaction, "no store waits for an answer about it", remedy: "queue lists the open questions")
    }
    let entitlement = try purchase(of: question.key)
    let consent = try entitlement?.account.flatMap { try self.consent(of: $0) }
    return RefundFacts(
      question: question, productID: entitlement?.productID, owner: entitlement?.account,
      consentDate: consent?.date, consentText: consent?.version,
      isInstalled: try entitlement.map { try isInstalled($0.productID, by: $0.account) } ?? false)
  }

  /// - Complexity: O(audit events): these questions are rare.
  private func isInstalled(_ product: String?, by account: AccountID?) throws -> Bool {
    guard let product, let account else { return false }
    return try read { db in
      let select = try db.cached(
        "SELECT \(LedgerEvent.columns) FROM event WHERE type = \(EventType.audit.rawValue) ORDER BY seq")
      defer { select.reset() }
      while try select.step() {
        if case .audit(Self.installed, account, product, _, _, _)? = try? LedgerEvent(select, in: path).content {
          return true
        }
      }
      return false
    }
  }

  /// Records that a question was answered.
  package func recordAnswer(to question: RefundQuestion, _ text: String, by author: String) throws {
    try write { recorder in
      try recorder.append(
        recorder.act(.answer, ActReason(text, by: author), transaction: question.key, subject: question.uuid))
      return
    }
  }
}
