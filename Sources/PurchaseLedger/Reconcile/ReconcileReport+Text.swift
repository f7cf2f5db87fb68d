import Foundation
import Support

extension ReconcileLine {
  /// Like a difference of two journals: what, in which book, and what to do.
  var text: String {
    var text = (theirs ?? ours).map { "\(Self.day($0.revocation?.date ?? $0.signedDate)) " } ?? ""
    text += "\(subject)\n"
    if let theirs { text += "    store: \(theirs.text)\n" }
    if let ours { text += "    ours:  \(ours.text)\(owner.map { ", owned by \($0)" } ?? "")\n" }
    if let claimant {
      text += "    named by the store: \(claimant)" + (ours == nil ? owner.map { ", owned by \($0)" } ?? "" : "") + "\n"
    }
    for difference in differences where !difference.isSaidAbove { text += "    \(difference.text)\n" }
    return text + "    -> \(remedy)\n"
  }

  private var subject: String {
    guard let transaction else { return quarantine ?? "" }
    let product = theirs?.productID ?? ours?.productID ?? ""
    let environment = transaction.environment == .production ? "" : " \(transaction.environment.rawValue.lowercased())"
    return "(\(transaction.store.rawValue)\(environment) \(transaction.id)) \(quarantine ?? product)"
  }

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

extension FieldDifference {
  /// Whether the lines of the two books say it: those of a revocation do where only one of them has it.
  fileprivate var isSaidAbove: Bool {
    if field.hasPrefix("revocation") { return theirs == nil || ours == nil }
    return ["statement", "appAccountToken"].contains(field)
  }

  /// Both values, when each was said, and which of them is the newer.
  var text: String {
    func said(_ value: String?, _ date: Int64) -> String { "\(value ?? "nothing") (\(ReconcileLine.day(date)))" }
    let verdict =
      switch newer {
      case .store: "the store's is newer"
      case .ours: "ours is newer"
      case .neither: "both of the same date"
      }
    return "\(field): store \(said(theirs, theirDate)), ours \(said(ours, ourDate)); \(verdict)"
  }

  var json: JSONObjectWriter {
    var object = JSONObjectWriter()
    object.add("field", field)
    object.add("theirs", theirs)
    object.add("ours", ours)
    object.add("theirDate", theirDate)
    object.add("ourDate", ourDate)
    object.add("newer", newer.rawValue)
    return object
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
    if kept > 0 {
      text += "\(kept) of those in both books \(kept == 1 ? "keeps" : "keep") what ours says, which is later or surer\n"
    }
    if unstated > 0 {
      text += "\(unstated) of those in both books \(unstated == 1 ? "says" : "say") in ours what the store's copy does "
      text += "not state; nothing to settle\n"
    }
    if unread > 0 {
      text += "\(unread) \(unread == 1 ? "piece" : "pieces") of the store's export could not be read, "
      text += "so the books cannot be said to agree: correct the export and run it again\n"
    }
    if isAgreed { return text + "The books agree.\n" }
    if remaining == 0 { return text + "No difference was found in what could be compared.\n" }
    return text + (remaining == 1 ? "1 difference remains.\n" : "\(remaining) differences remain.\n")
  }

  var json: JSONObjectWriter {
    var object = JSONObjectWriter()
    for kind in ReconcileClass.allCases { object.add(kind.name, self[kind]) }
    object.add("stale-snapshot", staleSnapshots)
    object.add("not-pulled", notPulled)
    object.add("kept", kept)
    object.add("unstated", unstated)
    object.add("unread", unread)
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
    if !differences.isEmpty {
      object.add("fields", raw: "[\(differences.map(\.json.text).joined(separator: ","))]")
    }
    object.add("kept", isKept ? true : nil)
    object.add("applied", isApplied ? true : nil)
    object.add("remedy", remedy)
    return object
  }

  static let csvHeader =
    "class,store,environment,transactionId,productId,theirs,ours,owner,claimant,applied,quarantine,remedy,fields,theirPrice,ourPrice\n"

  var csv: String {
    let fields: [String?] = [
      self.class.name, transaction?.store.rawValue, transaction?.environment.rawValue, transaction?.id,
      theirs?.productID ?? ours?.productID, theirs.map { "\($0.statement)" }, ours.map { "\($0.statement)" },
      owner?.description, claimant?.description, isApplied ? "true" : "false", quarantine, remedy,
      differences.map(\.text).joined(separator: "; "),
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
