package import Support

/// An event of the history with its place in the hash chain.
public struct LedgerEvent: Sendable, Hashable {
  /// The sequence number, from 1 without gaps.
  public var seq: Int64
  /// The version of the body's format.
  public var version: Int
  /// Milliseconds since 1970.
  public var recordedAt: Int64
  /// SHA-256 of the evidence from which the event was recorded.
  public var evidence: [UInt8]?
  /// SHA-256 of the chain up to and including this event.
  public var hash: [UInt8]
  /// The decoded body.
  package var content: EventContent

  /// The type of ``content``.
  public var type: EventType { content.type }
}

extension LedgerEvent {
  static let columns = "seq, type, version, recorded_at, key, evidence, body, hash"

  /// Reads a row selected as `columns`.
  init(_ row: SQLiteStatement, in path: String) throws {
    let seq = row.int64(0)
    guard let type = EventType(rawValue: UInt16(truncatingIfNeeded: row.int64(1))),
      let content = try? EventContent(type: type, version: row.int64(2), body: row.blob(6))
    else {
      throw LedgerError(.damaged, at: "\(path): event \(seq)", "cannot be read", remedy: "run `purchase-ledger verify`")
    }
    self.init(
      seq: seq, version: Int(row.int64(2)), recordedAt: row.int64(3), evidence: row.optionalBlob(5), hash: row.blob(7),
      content: content)
  }

  /// The event as one line of a JSON Lines export.
  package var jsonLine: String {
    var line = JSONObjectWriter()
    line.add("seq", seq)
    line.add("type", String(describing: type))
    line.add("version", version)
    line.add("recordedAt", recordedAt)
    content.write(into: &line)
    line.add("evidence", evidence?.hexadecimal)
    line.add("hash", hash.hexadecimal)
    return line.text
  }
}

// MARK: - JSON

extension EventContent {
  fileprivate func write(into line: inout JSONObjectWriter) {
    switch self {
    case .transaction(let fact): fact.write(into: &line)
    case .notification(let fact):
      line.add("store", fact.store.rawValue)
      line.add("environment", fact.environment?.rawValue)
      line.add("uuid", fact.uuid)
      line.add("notificationType", fact.type)
      line.add("subtype", fact.subtype)
      line.add("signedDate", fact.signedDate)
      line.add("transactionId", fact.transaction?.id)
    case .claim(let key, let account, let isTransfer, let after):
      key.write(into: &line)
      line.add("account", account.description)
      line.add("mode", isTransfer ? "transfer" : "bind")
      line.add("after", after)
    case .accountOpened(let account, let token):
      line.add("account", account.description)
      line.add("appAccountToken", token.description)
    case .accountErased(let account): line.add("account", account.description)
    case .policy(let name, let value, let after):
      line.add("name", name)
      line.add("value", value)
      line.add("after", after)
    case .quarantine(let kind, let reason, let key, let signedDate, let note):
      line.add("kind", kind.name)
      line.add("reason", reason)
      key?.write(into: &line)
      line.add("signedDate", signedDate)
      line.add("note", note)
    case .decision(let key, let date, let percentage, let policy, let value):
      key.write(into: &line)
      line.add("revocationDate", date)
      line.add("percentageMilli", percentage)
      line.add("policy", policy)
      line.add("value", value)
    case .correction(let run, let kind, let key):
      line.add("run", run)
      line.add("class", kind.name)
      key.write(into: &line)
    case .acknowledgement(let key): key.write(into: &line)
    case .audit(let kind, let account, let subject, let outcome, let detail, _):
      line.add("kind", kind)
      line.add("account", account?.description)
      line.add("subject", subject)
      line.add("outcome", outcome)
      line.add("detail", detail)
    case .amendment(let fact, let revision):
      line.add("revision", revision.number)
      line.add("fields", raw: "[\(revision.fieldNames.map(\.quotedAsJSON).joined(separator: ","))]")
      fact.write(into: &line)
    case .trait(let trait):
      trait.key.write(into: &line)
      line.add("name", trait.name.rawValue)
      line.add("value", trait.value)
      line.add("date", trait.date == 0 ? nil : trait.date)
    case .act(let act):
      line.add("action", act.action.rawValue)
      act.transaction?.write(into: &line)
      line.add("account", act.account?.description)
      line.add("other", act.other?.description)
      line.add("subject", act.subject)
      line.add("date", act.date)
      line.add("until", act.until)
      line.add("reason", act.reason)
      line.add("author", act.author)
    }
  }
}

extension TransactionKey {
  fileprivate func write(into line: inout JSONObjectWriter) {
    line.add("store", store.rawValue)
    line.add("environment", environment.rawValue)
    line.add("transactionId", id)
  }
}

extension StoreTransaction {
  /// Adds the fields as members; those that the store did not give are left out.
  package func write(into line: inout JSONObjectWriter) {
    key.write(into: &line)
    line.add("originalTransactionId", originalTransactionID)
    line.add("productId", productID)
    line.add("productType", productType == .unknown ? nil : productType.rawValue)
    line.add("purchaseDate", purchaseDate)
    line.add("expiresDate", expiresDate)
    line.add("quantity", quantity)
    line.add("ownership", ownership == .unknown ? nil : ownership.rawValue)
    line.add("appAccountToken", appAccountToken?.description)
    line.add("priceMilliunits", price?.milliunits)
    line.add("currency", price?.currency)
    line.add("transactionReason", reason.isEmpty ? nil : reason)
    line.add("purchaseToken", purchaseToken)
    line.add("acknowledged", isAcknowledged ? true : nil)
    line.add("signedDate", signedDate)
    line.add("trust", trust == .signed ? "signed" : "unsigned")
    line.add("statement", String(describing: statement))
    if let revocation {
      line.add("revocationDate", revocation.date)
      line.add("revocationReason", revocation.reason)
      line.add("revocationPercentageMilli", revocation.percentageMilli)
      line.add("revocationType", revocation.type)
      line.add("revokedQuantity", revocation.quantity)
    }
  }
}
