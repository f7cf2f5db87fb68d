/// One thing that a bundle must or should satisfy.
public struct VerificationRule: Hashable, Sendable, Codable {
  /// How binding a rule is.
  public enum Level: String, Sendable, Codable {
    /// MBTiles 1.3 says MUST.
    case must
    /// MBTiles 1.3 says SHOULD.
    case should
    /// Readers rely on it although the specification does not say it.
    case practice
  }

  /// A short name that stays the same, for programs.
  public let id: String
  /// What the rule asks for, as a sentence.
  public let title: String
  public let level: Level

  package init(_ id: String, _ level: Level, _ title: String) {
    self.id = id
    self.level = level
    self.title = title
  }
}
