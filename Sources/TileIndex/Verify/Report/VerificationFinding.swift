/// One breach of a rule.
public struct VerificationFinding: Hashable, Sendable, Codable {
  public enum Severity: String, Sendable, Codable {
    /// Readers fail or show something wrong.
    case error
    /// Readers cope, but something is missing or odd.
    case warning
  }

  /// ``VerificationRule/id``.
  public let rule: String
  public let severity: Severity
  /// `zoom/column/row` (XYZ) of the tile, where one is to blame.
  public let tile: String?
  /// What is wrong; starts in lower case.
  public let message: String
  /// What to do about it.
  public let remedy: String
}

/// The breaches of one rule: all counted, the first few kept.
struct Findings {
  /// A million bad tiles are told as well by ten of them and their number.
  static let keptMax = 10

  let rule: VerificationRule
  private(set) var kept: [VerificationFinding] = []
  private(set) var errors = 0
  private(set) var warnings = 0

  init(rule: VerificationRule) { self.rule = rule }

  mutating func error(_ message: @autoclosure () -> String, tile: TileID? = nil, remedy: String) {
    errors += 1
    keep(.error, message, tile?.description, remedy)
  }

  mutating func warning(_ message: @autoclosure () -> String, tile: TileID? = nil, remedy: String) {
    warnings += 1
    keep(.warning, message, tile?.description, remedy)
  }

  private mutating func keep(
    _ severity: VerificationFinding.Severity, _ message: () -> String, _ tile: String?, _ remedy: String
  ) {
    guard kept.count < Self.keptMax else { return }
    kept.append(
      VerificationFinding(rule: rule.id, severity: severity, tile: tile, message: message(), remedy: remedy))
  }
}
