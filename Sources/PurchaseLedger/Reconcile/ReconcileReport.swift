import Support

/// The result of a reconciliation, in numbers.
package struct ReconcileReport: Sendable, Hashable {
  /// Transactions by class.
  package internal(set) var counts: [ReconcileClass: Int] = [:]
  /// Matched transactions whose copy in the snapshot is older than the ledger's.
  package internal(set) var staleSnapshots = 0
  /// Transactions on both sides that still differ after the store's facts are recorded, because the ledger's values are
  /// newer.
  package internal(set) var kept = 0
  /// Transactions on both sides that differ only in values that the store's copy does not state, which is no
  /// contradiction.
  package internal(set) var unstated = 0
  /// Pieces of the store's export that could not be read.
  package internal(set) var unread = 0
  /// Corrective events recorded in this run.
  package internal(set) var applied = 0
  /// The ledger's transactions that the pull did not cover, or that were bought since.
  package internal(set) var notPulled = 0
  /// When Google's voided list was read last, if that is so long ago that refunds may be missing.
  package internal(set) var windowLostSince: Int64?
  /// Whose list it is.
  package internal(set) var windowLostStore: Store?
  /// Stores and environments that were compared.
  package internal(set) var scopes: [Scope] = []
  /// What the comparison cannot know.
  package internal(set) var unknowns: [ReconcileUnknown] = []
  /// The time of the comparison, in milliseconds since 1970.
  package internal(set) var comparedAt: Int64 = 0
  /// When the ledger's last event was recorded, in milliseconds since 1970.
  package internal(set) var lastEventAt: Int64?

  /// A store's environment that was compared.
  package struct Scope: Sendable, Hashable {
    /// The store.
    package var store: Store
    /// Production or sandbox.
    package var environment: StoreEnvironment
    /// When all of the store's transactions were pulled, in milliseconds since 1970: transactions bought until then
    /// that the snapshot lacks are own-only. Nil if not all were pulled.
    package var coveredAt: Int64?
    /// Up to when the records were read, by the clock of this machine, in milliseconds since 1970. Nil for an export,
    /// which does not say when it was made.
    package var readTo: Int64?
  }

  /// The number of transactions of a class.
  package subscript(kind: ReconcileClass) -> Int { counts[kind] ?? 0 }

  /// Applied corrections after which the two sides still differ.
  var unsettled = 0

  /// The differences that remain after this run.
  package var remaining: Int {
    self[.storeOnly] + self[.stateDiffers] - unstated - applied + unsettled + self[.ownOnly] + self[.accountConflict]
      + self[.quarantined]
  }

  /// Whether the comparison was complete and no difference remains.
  package var isAgreed: Bool {
    !scopes.isEmpty && remaining == 0 && unread == 0 && windowLostSince == nil && unknowns.isEmpty
  }

  mutating func count(_ kind: ReconcileClass, _ number: Int = 1) { counts[kind, default: 0] += number }
}

/// The format of a reconciliation's report.
package enum ReconcileFormat: String, Sendable, CaseIterable {
  /// For people.
  case text
  /// One document.
  case json
  /// A line for each difference.
  case csv
}

/// Writes a reconciliation: add every line, then finish with the report.
///
/// JSON and CSV are written line by line in constant memory; the text format groups lines by class and shows at most
/// `groupLinesMax` of each.
package struct ReconcileWriter: ~Copyable {
  /// The number of differences of one class that the text shows; the total is always exact.
  package static let groupLinesMax = 10_000

  private let format: ReconcileFormat
  private let write: (String) throws -> Void
  private var groups: [ReconcileClass: [String]] = [:]
  private var written = 0

  /// A writer that passes pieces of text on.
  package init(_ format: ReconcileFormat, to write: @escaping (String) throws -> Void) {
    self.format = format
    self.write = write
  }

  /// Writes a difference.
  ///
  /// - Throws: what the closure throws.
  package mutating func add(_ line: ReconcileLine) throws {
    defer { written += 1 }
    switch format {
    case .text:
      if groups[line.class, default: []].count < Self.groupLinesMax {
        groups[line.class, default: []].append(line.text)
      }
    case .json: try write((written == 0 ? "{\"differences\":[\n" : ",\n") + line.json.text)
    case .csv: try write((written == 0 ? ReconcileLine.csvHeader : "") + line.csv)
    }
  }

  /// Writes the totals.
  ///
  /// - Throws: what the closure throws.
  package mutating func finish(_ report: ReconcileReport) throws {
    switch format {
    case .text:
      for kind in ReconcileClass.allCases where report[kind] > 0 && kind != .matched {
        try write("\(kind.heading) (\(report[kind])):\n\n")
        for text in groups[kind] ?? [] { try write(text + "\n") }
        let more = report[kind] - (groups[kind]?.count ?? 0)
        if more > 0 { try write("... and \(more) more: --report json or csv lists them all\n\n") }
      }
      try write(report.text)
    case .json:
      try write((written == 0 ? "{\"differences\":[" : "\n") + "],\n\"summary\":\(report.json.text)}\n")
    case .csv: if written == 0 { try write(ReconcileLine.csvHeader) }
    }
  }
}

extension ReconcileClass {
  fileprivate var heading: String {
    switch self {
    case .matched: "In both"
    case .storeOnly: "These are in the store's records only"
    case .ownOnly: "These are in the ledger only"
    case .stateDiffers: "These are in both, in different states"
    case .accountConflict: "For these the store names another account than the ledger's owner"
    case .quarantined: "This evidence is in quarantine"
    }
  }
}

extension ReconcileReport {
  var text: String {
    var text = ""
    if let windowLostSince {
      let isApple = windowLostStore == .apple
      text += """
        window-lost: \(isApple ? "Apple's notification history" : "Google's voided list") was not read after \
        \(ReconcileLine.day(windowLostSince)) for longer than the store keeps it; query every \
        \(isApple ? "customer" : "purchase"): run pull --store \(isApple ? "apple" : "google")

        """
    }
    if scopes.isEmpty {
      return text + "Nothing was pulled yet, so nothing was compared: run pull, or reconcile --against FILE\n"
    }
    let stale = staleSnapshots > 0 ? " (\(staleSnapshots) newer in the ledger)" : ""
    var parts = ["\(self[.matched]) matched\(stale)"]
    for kind in ReconcileClass.allCases where kind != .matched && self[kind] > 0 {
      parts.append("\(self[kind]) \(kind.name)")
    }
    text += parts.joined(separator: ", ") + "\n"
    if applied > 0 { text += "\(applied) recorded\n" }
    if notPulled > 0 {
      text += "\(notPulled) in the ledger \(notPulled == 1 ? "was" : "were") not covered by the pull; "
      text += "pull --all queries everything\n"
    }
    if kept > 0 {
      text += "\(kept) of those in both \(kept == 1 ? "keeps" : "keep") the ledger's values, "
      text += "which are newer or more reliable\n"
    }
    if unstated > 0 {
      text += "\(unstated) of those in both \(unstated == 1 ? "has" : "have") values "
      text += "that the store's copy does not state; nothing to do\n"
    }
    if unread > 0 {
      text += "\(unread) \(unread == 1 ? "piece" : "pieces") of the store's export could not be read, "
      text += "so agreement is unknown: correct the export and run it again\n"
    }
    for scope in scopes { text += compared(scope) + "\n" }
    for unknown in unknowns { text += "unknown: \(unknown.message)\n" }
    if isAgreed { return text + "Store and ledger agree.\n" }
    if remaining == 0 { return text + "No difference was found in what could be compared.\n" }
    return text + (remaining == 1 ? "1 difference remains.\n" : "\(remaining) differences remain.\n")
  }

  /// How old the records are, and whether the ledger has been written since.
  private func compared(_ scope: Scope) -> String {
    let environment = scope.environment == .production ? "" : " \(scope.environment.rawValue.lowercased())"
    guard let readTo = scope.readTo else {
      return "compared with an export of \(scope.store.rawValue)\(environment), which does not say when it was made"
    }
    var text = "compared with \(scope.store.rawValue)\(environment) as read up to \(TimeText.minute(readTo))"
    text += ", \(TimeText.age(comparedAt - readTo)) ago"
    if let lastEventAt, lastEventAt > readTo {
      text += "; the ledger's last event is newer (\(TimeText.minute(lastEventAt)))"
    }
    return text
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
    object.add("lastEventAt", lastEventAt)
    let compared = scopes.map { scope in
      var object = JSONObjectWriter()
      object.add("store", scope.store.rawValue)
      object.add("environment", scope.environment.rawValue)
      object.add("readTo", scope.readTo)
      object.add("ageSeconds", scope.readTo.map { (comparedAt - $0) / 1000 })
      object.add("coveredAt", scope.coveredAt)
      return object.text
    }
    object.add("compared", raw: "[\(compared.joined(separator: ","))]")
    object.add("unknown", raw: "[\(unknowns.map(\.json.text).joined(separator: ","))]")
    object.add("agreed", isAgreed)
    return object
  }
}
