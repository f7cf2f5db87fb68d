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
  public internal(set) var head: [UInt8] = EventChain.genesis
  /// The number of pieces of evidence.
  public internal(set) var evidence = 0
  /// The number of facts that no store signed and the operator vouched for.
  public internal(set) var unsigned = 0
  /// The first hundred findings; `findingCount` counts all.
  public private(set) var findings: [Finding] = []
  /// The number of all findings.
  public private(set) var findingCount = 0
  /// Sales and refunds of the production environment by currency, in minor units.
  public internal(set) var totals: [Total] = []

  /// Sales and refunds of one currency.
  public struct Total: Sendable, Hashable {
    /// The code of ISO 4217.
    public var currency: String
    /// In minor units.
    public var sales: Int128
    /// In minor units.
    public var refunds: Int128
  }

  /// Tables whose rows follow from no event, so that changes in them cannot be detected, with their number of rows.
  public internal(set) var outside: [Outside] = []
  /// The number of signatures checked again; nil if that was not requested.
  public internal(set) var signatures: Int?

  /// A table whose rows follow from no event.
  public struct Outside: Sendable, Hashable {
    /// The name of the table.
    public var table: String
    /// The number of its rows.
    public var rows: Int
  }

  /// True when nothing was found.
  public var isClean: Bool { findingCount == 0 }

  mutating func find(_ location: String, _ message: String) {
    findingCount += 1
    if findings.count < 100 { findings.append(Finding(location: location, message: message)) }
  }
}
