import Support

extension SpoolLine {
  /// Whether a line is about an account.
  static func isAccount(_ item: EvidenceItem) -> Bool { item.bytes.starts(with: mark) }
}

extension Array {
  /// The consecutive elements for which a condition has the same value.
  func split(beforeChangesOf condition: (Element) -> Bool) -> [ArraySlice<Element>] {
    var parts: [ArraySlice<Element>] = []
    var start = startIndex
    while start < endIndex {
      let value = condition(self[start])
      let end = self[start...].firstIndex { condition($0) != value } ?? endIndex
      parts.append(self[start..<end])
      start = end
    }
    return parts
  }
}

/// Applies the lines of a spool that are about accounts.
///
/// `import` adds accounts. Only `merge` erases them and changes passwords, because a file of evidence may come from a
/// customer.
struct AccountLines {
  let ledger: Ledger
  let changesAccounts: Bool

  /// Applies lines in one commit.
  func apply(_ items: ArraySlice<EvidenceItem>) throws -> [EvidenceImporter.Line] {
    try ledger.write { recorder in
      try items.map { item in
        var booking = Booking(outcome: .duplicate)
        do {
          if let line = try SpoolLine.account(item.bytes), try apply(line, recorder) { booking.outcome = .accepted }
        } catch let refusal as VerificationError {
          booking = Booking(outcome: .refused, reason: refusal)
        }
        return EvidenceImporter.Line(source: item.source, line: item.line, booking: booking)
      }
    }
  }

  /// - Returns: Whether the line changed anything.
  private func apply(_ line: SpoolLine.Account, _ recorder: EvidenceRecorder) throws -> Bool {
    switch line {
    case .opened(let id, let token):
      guard try recorder.account(id: id) == nil else { return false }
      if let other = try recorder.account(token: token) {
        throw VerificationError(
          .tokenOfAnotherAccount, "account \(id) has the token of account \(AccountID(other.id))",
          remedy: "its purchases belong to that one here; tell which of the two is right")
      }
      return try recorder.append(.accountOpened(id, token: token)) != nil
    case .erased(let id):
      guard let account = try recorder.account(id: id), account.erasedSeq == nil else { return false }
      try checkMayChange("erases account \(id)")
      try recorder.append(.accountErased(id))
      try recorder.deletePersonalData(of: account)
      return true
    case .act(let act):
      for account in [act.account, act.other].compactMap(\.self) where try recorder.account(id: account) == nil {
        throw VerificationError(.noSuchAccount, "account \(account) is not in this ledger")
      }
      try checkMayChange("says what an operator did for a customer")
      guard try recorder.append(.act(act)) != nil else { return false }
      if act.action == .merge, let account = try act.account.flatMap({ try recorder.account(id: $0) }) {
        try recorder.deletePersonalData(of: account)
      }
      return true
    case .credential(let credential): return try apply(credential, recorder)
    }
  }

  private func apply(_ credential: SpoolLine.Credential, _ recorder: EvidenceRecorder) throws -> Bool {
    guard let account = try recorder.account(id: credential.account) else {
      throw VerificationError(.noSuchAccount, "account \(credential.account) is not in this ledger")
    }
    guard account.erasedSeq == nil else { return false }
    let all = try recorder.db.cached("SELECT account, changed_at FROM credential WHERE login = ? OR account = ?")
    all.bind(1, credential.login)
    all.bind(2, account.number)
    let known = try all.all { (account: $0.int64(0), changedAt: $0.int64(1)) }
    guard !known.contains(where: { $0.account != account.number }) else {
      throw VerificationError(
        .init(rawValue: "login-taken"), "the login of account \(credential.account) is another account's here",
        remedy: "tell which of the two is the person's")
    }
    if let own = known.first {
      guard own.changedAt < credential.changedAt else { return false }
      try checkMayChange("changes the password of account \(credential.account)")
    }
    try recorder.setCredential(credential, of: account)
    try recorder.endSessions(of: account)
    return true
  }

  private func checkMayChange(_ what: String) throws(VerificationError) {
    guard !changesAccounts else { return }
    throw VerificationError(
      .init(rawValue: "merge-only"), "the line \(what)", remedy: "run `purchase-ledger merge` if the file is yours")
  }
}
