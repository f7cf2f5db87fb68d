/// What `verify` found.
public struct VerifyReport: Sendable {
  public struct Finding: Sendable, Hashable, CustomStringConvertible {
    /// Table and key of the row, or what it is about.
    public var location: String
    public var message: String

    public var description: String { "\(location): \(message)" }
  }

  /// How many events there are.
  public internal(set) var events = 0
  /// The hash of the last one: kept elsewhere, it finds a history that was cut off or rewritten as a whole.
  public internal(set) var head: [UInt8] = EventChain.genesis
  public internal(set) var evidence = 0
  /// Facts in the chain that no store signed: the operator vouched for them.
  public internal(set) var unsigned = 0
  /// The first hundred; `findingCount` counts all.
  public private(set) var findings: [Finding] = []
  public private(set) var findingCount = 0
  /// What the books say per currency, in minor units: sales and refunds of the production environment.
  public internal(set) var totals: [Total] = []

  public struct Total: Sendable, Hashable {
    public var currency: String
    public var sales: Int128
    public var refunds: Int128
  }

  /// What no event says, so that nothing here can tell whether somebody changed it: tables and how many rows they have.
  public internal(set) var outside: [Outside] = []
  /// Pieces of evidence whose signature was checked again, nil where that was not asked for.
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
