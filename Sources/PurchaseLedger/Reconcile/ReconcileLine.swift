import Support

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One difference between the store's list and the ledger, with its remedy.
package struct ReconcileLine: Sendable, Hashable {
  /// A transaction's state on one side.
  package struct Side: Sendable, Hashable {
    /// The product's id in its store.
    package var productID: String?
    /// The id of the first purchase, which restored copies share.
    package var originalTransactionID: String
    /// What was stated of it.
    package var statement: Statement
    /// When it was stated, in milliseconds since 1970.
    package var signedDate: Int64
    /// The refund, if there is one.
    package var revocation: Revocation?
    /// What was paid, if that is known.
    package var price: Money?
    /// The account's token in the purchase.
    package var token: AccountToken?
  }

  /// How the sides differ.
  package var `class`: ReconcileClass
  /// Nil for quarantined evidence that names no transaction.
  package var transaction: TransactionKey?
  /// The store's side.
  package var theirs: Side?
  /// The ledger's side.
  package var ours: Side?
  /// The owner of the grant in the ledger.
  package var owner: AccountID?
  /// The account that the store names, if it is not the owner.
  package var claimant: AccountID?
  /// For quarantined evidence: the reason's code and the digest.
  package var quarantine: String?
  /// For a transaction on both sides: the fields that differ.
  package var differences: [FieldDifference] = []
  /// For a transaction on both sides: whether the ledger's values are newer, so that nothing of the store's would be
  /// recorded.
  package internal(set) var isKept = false
  /// For a transaction on both sides: whether they agree once the store's facts are recorded.
  var isSettled = true
  /// For a transaction on both sides: whether they differ only in values that the store's copy does not state, which
  /// needs no correction.
  package var isUnstated: Bool { self.class == .stateDiffers && isKept && isSettled }
  /// Whether `--apply` recorded it in this run.
  package var isApplied: Bool

  init(_ kind: ReconcileClass, _ transaction: TransactionKey?) {
    self.class = kind
    self.transaction = transaction
    isApplied = false
  }

  /// What to do, in a few words.
  package var remedy: String {
    switch self.class {
    case .matched: "nothing"
    case .storeOnly: isApplied ? "recorded" : "record it: run reconcile --apply"
    case .stateDiffers: stateRemedy
    case .ownOnly: "query the store for it by its id; absence alone revokes nothing"
    case .accountConflict: "decide whose it is; import the store's evidence to follow the store"
    case .quarantined: "import it again once the reason is gone, or dismiss it"
    }
  }

  private var stateRemedy: String {
    if isUnstated { return "nothing: the store's copy does not state it, and contradicts nothing" }
    let kept =
      "the ledger's is newer or more reliable: nothing to record; compare with a fresh export, reconcile --against FILE"
    if isKept { return kept }
    guard isApplied else { return "take over the store's state: run reconcile --apply" }
    return isSettled ? "recorded" : "recorded in part; \(kept)"
  }
}

extension ReconcileLine.Side {
  init(_ row: TransactionRow) {
    productID = row.productID.isEmpty ? nil : row.productID
    originalTransactionID = row.originalID
    statement = row.statement
    signedDate = row.signedDate
    revocation = row.refund
    price = row.price
    token = row.token.map(AccountToken.init)
  }
}

// MARK: - Text

extension ReconcileLine {
  /// The text format: the transaction, both sides and the remedy.
  var text: String {
    var text = (theirs ?? ours).map { "\(Self.day($0.revocation?.date ?? $0.signedDate)) " } ?? ""
    text += "\(subject)\n"
    if let theirs { text += "    store:  \(theirs.text)\n" }
    if let ours { text += "    ledger: \(ours.text)\(owner.map { ", owned by \($0)" } ?? "")\n" }
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
    price.map { "\($0.decimal) \($0.currency)" }
  }
}

// MARK: - JSON and CSV

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

  static let csvHeader = """
    class,store,environment,transactionId,productId,theirs,ours,owner,claimant,applied,quarantine,remedy,fields,\
    theirPrice,ourPrice

    """

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

  /// RFC 4180: a field with a comma, quote or line break is quoted. A field that a spreadsheet would take for a formula
  /// gets a leading apostrophe; amounts do not.
  private static func quoted(_ field: String) -> String {
    let isFormula = field.utf8.first.map("=+-@\t\r\n".utf8.contains) ?? false
    if isFormula, field.wholeMatch(of: /[+-]?[0-9]+(\.[0-9]+)?( [A-Z]{3})?/) == nil { return quoted("'" + field) }
    guard field.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return field }
    return "\"\(field.replacing("\"", with: "\"\""))\""
  }
}

extension FieldDifference {
  /// Whether the lines of the two sides show the difference already; for a revocation they do if only one side has it.
  fileprivate var isSaidAbove: Bool {
    if field.hasPrefix("revocation") { return theirs == nil || ours == nil }
    return ["statement", "appAccountToken"].contains(field)
  }

  /// Both values with their dates, and which is newer.
  var text: String {
    func said(_ value: String?, _ date: Int64) -> String { "\(value ?? "nothing") (\(ReconcileLine.day(date)))" }
    let verdict =
      switch newer {
      case .store: "the store's is newer"
      case .ours: "the ledger's is newer"
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
