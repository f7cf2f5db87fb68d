/// The findings of `verify`.
public struct VerifyReport: Sendable {
  public struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// Table and key of the row, or another object of the file.
    public var location: String
    public var message: String

    public var description: String { "\(location): \(message)" }
  }

  /// The number of events.
  public internal(set) var events = 0
  /// The hash of the last event. Kept elsewhere it detects a history that was truncated or rewritten as a whole.
  public internal(set) var head: [UInt8] = EventChain.genesis
  public internal(set) var evidence = 0
  /// The number of facts that no store signed and the operator vouched for.
  public internal(set) var unsigned = 0
  /// The first hundred findings; `findingCount` counts all.
  public private(set) var findings: [Finding] = []
  public private(set) var findingCount = 0
  /// Sales and refunds of the production environment by currency, in minor units.
  public internal(set) var totals: [Total] = []

  public struct Total: Sendable, Hashable {
    public var currency: String
    public var sales: Int128
    public var refunds: Int128
  }

  /// Tables whose rows follow from no event, so that changes in them cannot be detected, with their number of rows.
  public internal(set) var outside: [Outside] = []
  /// The number of signatures checked again; nil if that was not requested.
  public internal(set) var signatures: Int?

  public struct Outside: Sendable, Hashable {
    public var table: String
    public var rows: Int
  }

  public var isClean: Bool { findingCount == 0 }

  mutating func find(_ location: String, _ message: String) {
    findingCount += 1
    if findings.count < 100 { findings.append(Finding(location: location, message: message)) }
  }
}
