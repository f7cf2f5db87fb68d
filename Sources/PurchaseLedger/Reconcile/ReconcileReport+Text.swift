import Foundation

extension ReconcileLine {
  /// Like a difference of two journals: what, in which book, and what to do.
  var text: String {
    var text = "\(day(theirs ?? ours)) \(subject)\n"
    if let theirs { text += "    store: \(theirs.text)\n" }
    if let ours { text += "    ours:  \(ours.text)\(owner.map { ", owned by \($0)" } ?? "")\n" }
    if let claimant {
      text += "    named by the store: \(claimant)" + (ours == nil ? owner.map { ", owned by \($0)" } ?? "" : "") + "\n"
    }
    return text + "    -> \(remedy)\n"
  }

  private var subject: String {
    guard let transaction else { return quarantine ?? "" }
    let product = theirs?.productID ?? ours?.productID ?? ""
    let environment = transaction.environment == .production ? "" : " \(transaction.environment.rawValue.lowercased())"
    return "(\(transaction.store.rawValue)\(environment) \(transaction.id)) \(product)"
  }

  private func day(_ side: Side?) -> String { side.map { Self.day($0.revocation?.date ?? $0.signedDate) } ?? "" }

  static func day(_ milliseconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601.year().month().day())
  }
}

extension ReconcileLine.Side {
  var text: String {
    var text = "\(statement)"
    if let amount { text += " for \(amount)" }
    text += ", signed \(ReconcileLine.day(signedDate))"
    if let revocation {
      text += ", revoked \(ReconcileLine.day(revocation.date))"
      if let type = revocation.type { text += " \(type.withoutControls)" }
      if let share = revocation.percentageMilli { text += " \(Double(share) / 1000)%" }
      if let reason = revocation.reason { text += " for reason \(reason.withoutControls)" }
    }
    return text
  }

  fileprivate var amount: String? {
    price.map { "\(Posting.decimal($0)) \($0.currency)" }
  }
}

extension ReconcileReport {
  var text: String {
    var text = ""
    if let windowLostSince {
      text += """
        window-lost: Google's voided list was last read \(ReconcileLine.day(windowLostSince)), more than 30 days ago; \
        ask for every purchase: run pull --store google

        """
    }
    if scopes.isEmpty {
      return text + "Nothing was pulled yet, so nothing was compared: run pull, or reconcile --store FILE\n"
    }
    let stale = staleSnapshots > 0 ? " (\(staleSnapshots) newer in our book)" : ""
    var parts = ["\(self[.matched]) matched\(stale)"]
    for kind in ReconcileClass.allCases where kind != .matched && self[kind] > 0 {
      parts.append("\(self[kind]) \(kind.name)")
    }
    text += parts.joined(separator: ", ") + "\n"
    if applied > 0 { text += "\(applied) booked\n" }
    if notPulled > 0 {
      text += "\(notPulled) of ours \(notPulled == 1 ? "is" : "are") not in what was asked of the store; "
      text += "pull --all asks for everything\n"
    }
    if isAgreed { return text + "The books agree.\n" }
    return text + (remaining == 1 ? "1 difference remains.\n" : "\(remaining) differences remain.\n")
  }

  var json: JSONObjectWriter {
    var object = JSONObjectWriter()
    for kind in ReconcileClass.allCases { object.add(kind.name, self[kind]) }
    object.add("stale-snapshot", staleSnapshots)
    object.add("not-pulled", notPulled)
    object.add("applied", applied)
    object.add("remaining", remaining)
    object.add("windowLostSince", windowLostSince)
    object.add("agreed", isAgreed)
    return object
  }
}

extension ReconcileLine {
  var json: JSONObjectWriter {
    var object = JSONObjectWriter()
    object.add("class", self.class.name)
    object.add("store", transaction?.store.rawValue)
    object.add("environment", transaction?.environment.rawValue)
    object.add("transactionId", transaction?.id)
    if let theirs { object.add("theirs", raw: theirs.json.text) }
    if let ours { object.add("ours", raw: ours.json.text) }
    object.add("owner", owner?.description)
    object.add("claimant", claimant?.description)
    object.add("quarantine", quarantine)
    object.add("applied", isApplied ? true : nil)
    object.add("remedy", remedy)
    return object
  }

  static let csvHeader =
    "class,store,environment,transactionId,productId,theirs,ours,owner,claimant,applied,quarantine,remedy,theirPrice,ourPrice\n"

  var csv: String {
    let fields = [
      self.class.name, transaction?.store.rawValue, transaction?.environment.rawValue, transaction?.id,
      theirs?.productID ?? ours?.productID, theirs.map { "\($0.statement)" }, ours.map { "\($0.statement)" },
      owner?.description, claimant?.description, isApplied ? "true" : "false", quarantine, remedy,
      theirs?.amount, ours?.amount,
    ]
    return fields.map { Self.quoted($0 ?? "") }.joined(separator: ",") + "\n"
  }

  /// RFC 4180: quoted where a comma, quote or line break stands in it. What a spreadsheet would take for a formula gets an apostrophe before it, which
  /// makes it text; an amount is none.
  private static func quoted(_ field: String) -> String {
    let isFormula = field.utf8.first.map("=+-@\t\r\n".utf8.contains) ?? false
    if isFormula, field.wholeMatch(of: /[+-]?[0-9]+(\.[0-9]+)?( [A-Z]{3})?/) == nil { return quoted("'" + field) }
    guard field.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return field }
    return "\"\(field.replacingOccurrences(of: "\"", with: "\"\""))\""
  }
}

extension ReconcileLine.Side {
  var json: JSONObjectWriter {
    var object = JSONObjectWriter()
    object.add("productId", productID)
    object.add("originalTransactionId", originalTransactionID)
    object.add("statement", "\(statement)")
    object.add("signedDate", signedDate)
    object.add("revocationDate", revocation?.date)
    object.add("revocationReason", revocation?.reason)
    object.add("revocationPercentageMilli", revocation?.percentageMilli)
    object.add("revocationType", revocation?.type)
    object.add("priceMilliunits", price?.milliunits)
    object.add("currency", price?.currency)
    object.add("appAccountToken", token?.description)
    return object
  }
}
