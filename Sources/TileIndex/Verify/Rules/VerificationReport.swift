/// The result of verifying a bundle: the findings of every rule.
package struct VerificationReport: Hashable, Sendable, Codable {
  /// A rule and what it found.
  package struct Outcome: Hashable, Sendable, Codable {
    /// The rule that was checked.
    package let rule: VerificationRule
    /// The number of errors, including those beyond ``findings``.
    package let errors: Int
    /// The number of warnings, including those beyond ``findings``.
    package let warnings: Int
    /// The first ten.
    package let findings: [VerificationFinding]
  }

  /// The file, as the caller named it.
  package let path: String
  /// Name of the grid used for the check; nil when the bundle could not be opened.
  package let tileMatrixSet: String?
  /// The number of checked tiles.
  package let tiles: Int
  /// Every checked rule, including those without findings. When the bundle cannot be opened, only the rule that reports
  /// it.
  package let outcomes: [Outcome]

  /// Errors of all rules.
  package var errors: Int { outcomes.reduce(0) { $0 + $1.errors } }
  /// Warnings of all rules.
  package var warnings: Int { outcomes.reduce(0) { $0 + $1.warnings } }
  /// True when no rule found an error.
  package var isValid: Bool { errors == 0 }

  init(path: String, tileMatrixSet: String?, tiles: Int, findings: [Findings]) {
    self.path = path
    self.tileMatrixSet = tileMatrixSet
    self.tiles = tiles
    outcomes = findings.map { found in
      Outcome(rule: found.rule, errors: found.errors, warnings: found.warnings, findings: found.kept)
    }
  }
}

/// One violation of a rule.
package struct VerificationFinding: Hashable, Sendable, Codable {
  /// How much a finding matters.
  package enum Severity: String, Sendable, Codable {
    /// Readers fail or show something wrong.
    case error
    /// Readers work, but something is missing or unusual.
    case warning
  }

  /// ``VerificationRule/id``.
  package let rule: String
  /// How much it matters.
  package let severity: Severity
  /// `zoom/column/row` (XYZ) of the tile, if one is concerned.
  package let tile: String?
  /// What is wrong; starts in lower case.
  package let message: String
  /// What to do about it.
  package let remedy: String
}

/// The findings of one rule: all are counted, the first few kept.
struct Findings {
  /// Ten of a million bad tiles and their number are enough.
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

/// A requirement on bundles.
package struct VerificationRule: Hashable, Sendable, Codable {
  /// The authority of a rule.
  package enum Level: String, Sendable, Codable {
    /// The container's specification (MBTiles 1.3, PMTiles v3) says MUST.
    case must
    /// The container's specification says SHOULD.
    case should
    /// Readers rely on it, although no specification requires it.
    case practice
  }

  /// A short, stable name for programs.
  package let id: String
  /// The requirement, as a sentence.
  package let title: String
  /// How much a finding matters.
  package let level: Level

  package init(_ id: String, _ level: Level, _ title: String) {
    self.id = id
    self.level = level
    self.title = title
  }
}
