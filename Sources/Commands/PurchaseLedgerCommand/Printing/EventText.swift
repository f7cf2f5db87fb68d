import PurchaseLedger

/// Events for people, a line each.
enum EventText {
  static func line(_ event: LedgerEvent) -> String {
    "\(event.seq)  \(TimeArgument.text(event.recordedAt))  \(text(event.content))"
  }

  private static func text(_ content: EventContent) -> String {
    switch content {
    case .transaction(let fact):
      let copy = fact.transactionID == fact.originalTransactionID ? "" : " of \(fact.originalTransactionID)"
      let refund = fact.revocation.map { ", revoked \(TimeArgument.text($0.date))" } ?? ""
      return "transaction \(fact.transactionID)\(copy) \(fact.productID ?? "") \(fact.statement)\(refund), "
        + "signed \(TimeArgument.text(fact.signedDate))"
    case .amendment(let fact, let revision):
      return "amendment \(revision.number) of \(fact.transactionID) \(fact.productID ?? ""): "
        + "\(revision.fieldNames.joined(separator: ", ")) as signed \(TimeArgument.text(fact.signedDate))"
    case .notification(let fact):
      return "notification \(fact.type)\(fact.subtype.map { " \($0)" } ?? "") \(fact.uuid)"
    case .claim(let key, let account, let isTransfer, _):
      return "\(isTransfer ? "transfer" : "claim") of \(key.id) by \(account)"
    case .accountOpened(let account, _): return "account \(account) opened"
    case .accountErased(let account): return "account \(account) erased"
    case .policy(let name, let value, _): return "policy \(name) = \(value)"
    case .quarantine(let kind, let reason, _, _, _): return "\(kind.name) quarantined: \(reason)"
    case .decision(_, _, let percentage, let policy, let value):
      return "refund of \(Double(percentage) / 1000) %: \(policy) = \(value)"
    case .correction(let run, let kind, let key): return "correction of \(key.id), \(kind.name), run \(run)"
    case .acknowledgement(let key): return "\(key.id) acknowledged"
    case .audit(let kind, let account, let subject, let outcome, _, _):
      return "audit \(kind) \(subject ?? "") \(outcome)\(account.map { " by \($0)" } ?? "")"
    }
  }
}
