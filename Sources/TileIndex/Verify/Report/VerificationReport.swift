/// The result of verifying a bundle: what every rule found.
public struct VerificationReport: Hashable, Sendable, Codable {
  /// A rule and what it found.
  public struct Outcome: Hashable, Sendable, Codable {
    public let rule: VerificationRule
    /// How many errors there are, also those that are not among the ``findings``.
    public let errors: Int
    /// How many warnings there are, also those that are not among the ``findings``.
    public let warnings: Int
    /// The first ten.
    public let findings: [VerificationFinding]
  }

  /// The file, as the caller named it.
  public let path: String
  /// Name of the grid by whose limits the bundle was verified; nil when it could not be opened.
  public let tileMatrixSet: String?
  /// Tiles that were looked at.
  public let tiles: Int
  /// Every rule that was checked, also those without findings. When the bundle cannot be opened, only the one that says so.
  public let outcomes: [Outcome]

  /// Errors of all rules.
  public var errors: Int { outcomes.reduce(0) { $0 + $1.errors } }
  /// Warnings of all rules.
  public var warnings: Int { outcomes.reduce(0) { $0 + $1.warnings } }
  /// True when no rule found an error.
  public var isValid: Bool { errors == 0 }

  init(path: String, tileMatrixSet: String?, tiles: Int, findings: [Findings]) {
    self.path = path
    self.tileMatrixSet = tileMatrixSet
    self.tiles = tiles
    outcomes = findings.map { found in
      Outcome(rule: found.rule, errors: found.errors, warnings: found.warnings, findings: found.kept)
    }
  }
}
