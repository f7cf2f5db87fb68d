/// The operator's policies; names and defaults are in docs/reference/ledger.md, Policies.
public struct LedgerPolicy: Sendable, Hashable {
  public enum SecondClaim: String, Sendable, CaseIterable { case refuse, transfer }
  public enum UnknownToken: String, Sendable, CaseIterable { case claimable, refuse }
  public enum PartialRefund: String, Sendable, CaseIterable { case keep, revoke }
  public enum Granting: String, Sendable, CaseIterable { case grant, withhold }
  public enum UnsignedEvidence: String, Sendable, CaseIterable { case `import`, refuse }

  /// The environment whose purchases grant entitlements.
  public var environment = StoreEnvironment.production
  public var secondClaim = SecondClaim.refuse
  public var unknownToken = UnknownToken.claimable
  public var partialRefund = PartialRefund.keep
  public var familySharing = Granting.grant
  public var untypedProducts = Granting.grant
  public var unsignedEvidence = UnsignedEvidence.import
  public var futureSkewSeconds = 300
  public var evidenceBytesMax = 4_194_304
  public var acknowledgeAfterSeconds = 0

  public init() {}
}

extension LedgerPolicy {
  /// Names and values as in the configuration and in events (docs/reference/ledger.md, Policies).
  package var settings: [(name: String, value: String)] {
    [
      ("environment", environment.rawValue.lowercased()), ("second-claim", secondClaim.rawValue),
      ("unknown-token", unknownToken.rawValue), ("partial-refund", partialRefund.rawValue),
      ("family-sharing", familySharing.rawValue), ("untyped-products", untypedProducts.rawValue),
      ("unsigned-evidence", unsignedEvidence.rawValue), ("future-skew-seconds", String(futureSkewSeconds)),
      ("evidence-size-cap", String(evidenceBytesMax)),
      ("acknowledge-after-seconds", String(acknowledgeAfterSeconds)), ("absence", "report"),
    ]
  }

  /// Sets a policy by its name.
  ///
  /// - Throws: `LedgerError` with code `configuration` that names the policy and its allowed values.
  package mutating func set(_ name: String, to value: String) throws(LedgerError) {
    switch name {
    case "environment":
      let named = StoreEnvironment(storeText: value)
      guard named.code != nil else { throw Self.unknown(value, for: name, allowed: ["production", "sandbox"]) }
      environment = named
    case "second-claim": secondClaim = try Self.parse(value, for: name)
    case "unknown-token": unknownToken = try Self.parse(value, for: name)
    case "partial-refund": partialRefund = try Self.parse(value, for: name)
    case "family-sharing": familySharing = try Self.parse(value, for: name)
    case "untyped-products": untypedProducts = try Self.parse(value, for: name)
    case "unsigned-evidence": unsignedEvidence = try Self.parse(value, for: name)
    case "future-skew-seconds": futureSkewSeconds = try Self.parse(value, for: name, within: 0...86_400)
    case "evidence-size-cap": evidenceBytesMax = try Self.parse(value, for: name, within: 1...(1 << 30))
    case "acknowledge-after-seconds":
      acknowledgeAfterSeconds = try Self.parse(value, for: name, within: 0...(1 << 31))
    case "absence":
      guard value == "report" else { throw Self.unknown(value, for: name, allowed: ["report"]) }
    default:
      throw LedgerError(
        .configuration, at: "policy \(name)",
        "there is no such policy; there are \(LedgerPolicy().settings.map(\.name).joined(separator: ", "))")
    }
  }

  private static func parse<Value: RawRepresentable & CaseIterable>(
    _ value: String, for name: String
  ) throws(LedgerError) -> Value where Value.RawValue == String {
    guard let parsed = Value(rawValue: value) else {
      throw unknown(value, for: name, allowed: Value.allCases.map(\.rawValue))
    }
    return parsed
  }

  private static func parse(
    _ value: String, for name: String, within range: ClosedRange<Int>
  ) throws(LedgerError) -> Int {
    guard let number = Int(value), range.contains(number) else {
      throw unknown(value, for: name, allowed: ["\(range.lowerBound) to \(range.upperBound)"])
    }
    return number
  }

  private static func unknown(_ value: String, for name: String, allowed: [String]) -> LedgerError {
    LedgerError(
      .configuration, at: "policy \(name)", "does not know \"\(value)\"; set it to \(allowed.joined(separator: " or "))"
    )
  }
}

extension StoreIdentity {
  /// The same identity with the policy's limits on evidence size and clock skew.
  package func bounded(by policy: LedgerPolicy) -> Self {
    var identity = self
    identity.futureSkewMilliseconds = Int64(policy.futureSkewSeconds) * 1000
    identity.evidenceBytesMax = policy.evidenceBytesMax
    return identity
  }
}
