/// The findings of `verify`.
public struct VerifyReport: Sendable {
  /// One fault, and where it is.
  public struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// Table and key of the row, or another object of the file.
    public var location: String
    /// What is wrong; starts in lower case.
    public var message: String

    public var description: String { "\(location): \(message)" }
  }

  /// The number of events.
  public internal(set) var events = 0
  /// The hash of the last event. Kept elsewhere it detects a history that was truncated or rewritten as a whole.
  package internal(set) var head: [UInt8] = EventChain.genesis
  /// The number of pieces of evidence.
  package internal(set) var evidence = 0
  /// The number of facts that no store signed and the operator vouched for.
  package internal(set) var unsigned = 0
  /// The first hundred findings; `findingCount` counts all.
  public private(set) var findings: [Finding] = []
  /// The number of all findings.
  package private(set) var findingCount = 0
  /// Sales and refunds of the production environment by currency, in minor units.
  package internal(set) var totals: [Total] = []

  /// Sales and refunds of one currency.
  package struct Total: Sendable, Hashable {
    /// The code of ISO 4217.
    package var currency: String
    /// In minor units.
    package var sales: Int128
    /// In minor units.
    package var refunds: Int128
  }

  /// The events after the head that was looked for; nil if none was.
  package internal(set) var afterHead: AfterHead?

  /// What was recorded after a head that was kept elsewhere. The head proves nothing of it.
  package struct AfterHead: Sendable, Hashable {
    /// The number of events.
    package internal(set) var events = 0
    /// Those among them that no store's signature can confirm, by what they are, in the order of the names: whoever can
    /// write to the file can append them.
    package internal(set) var unproven: [String: Int] = [:]
  }

  /// Sales of the production environment for which no store states a usable price: they are in no total.
  package internal(set) var unpriced = 0

  /// Tables whose rows follow from no event, so that changes in them cannot be detected, with their number of rows.
  package internal(set) var outside: [Outside] = []
  /// The number of signatures checked again; nil if that was not requested.
  package internal(set) var signatures: Int?

  /// A table whose rows follow from no event.
  package struct Outside: Sendable, Hashable {
    /// The name of the table.
    package var table: String
    /// The number of its rows.
    package var rows: Int
  }

  /// True when nothing was found.
  public var isClean: Bool { findingCount == 0 }

  mutating func count(afterHead content: EventContent) {
    let name: String? =
      switch content {
      case .transaction(let fact), .amendment(let fact, _): fact.trust == .unsigned ? "unsigned fact" : nil
      case .notification, .quarantine, .decision, .trait: nil
      case .act(let act): act.action.rawValue
      case .claim(_, _, let isTransfer, _): isTransfer ? "transfer" : "claim"
      case .accountOpened: "opened account"
      case .accountErased: "erased account"
      case .policy: "policy"
      case .correction: "correction"
      case .acknowledgement: "acknowledgement"
      case .audit(let kind, _, _, _, _, _):
        kind == EvidenceRecorder.dismissed ? "dismissal" : kind == EvidenceRecorder.released ? "release" : "audit entry"
      }
    afterHead?.events += 1
    if let name { afterHead?.unproven[name, default: 0] += 1 }
  }

  mutating func find(_ location: String, _ message: String) {
    findingCount += 1
    if findings.count < 100 { findings.append(Finding(location: location, message: message)) }
  }
}
