/// The operator's policies; names and defaults are in docs/reference/ledger.md, Policies.
public struct LedgerPolicy: Sendable, Hashable {
  /// What happens when another account claims a purchase.
  public enum SecondClaim: String, Sendable, CaseIterable {
    /// The first account keeps it.
    case refuse
    /// It moves when a person asks to restore purchases.
    case transfer
  }

  /// Purchases whose token never belonged to an account.
  public enum UnknownToken: String, Sendable, CaseIterable {
    /// The first account that submits it owns it.
    case claimable
    /// It has no owner.
    case refuse
  }

  /// What a partial refund does to the entitlement.
  public enum PartialRefund: String, Sendable, CaseIterable {
    /// The product stays owned.
    case keep
    /// The product is no longer owned.
    case revoke
  }

  /// Whether purchases of a kind grant anything.
  public enum Granting: String, Sendable, CaseIterable {
    /// They do.
    case grant
    /// They are recorded and grant nothing.
    case withhold
  }

  /// Evidence that no store has signed.
  public enum UnsignedEvidence: String, Sendable, CaseIterable {
    /// An operator may import it.
    case `import`
    /// Nobody may submit it.
    case refuse
  }

  /// What subscriptions entitle to.
  package enum Subscriptions: String, Sendable, CaseIterable {
    /// Nothing.
    case hold
    /// Their product until they end.
    case grant
  }

  /// The environment whose purchases grant entitlements.
  public var environment = StoreEnvironment.production
  /// `second-claim`.
  public var secondClaim = SecondClaim.refuse
  /// `unknown-token`.
  public var unknownToken = UnknownToken.claimable
  /// `partial-refund`.
  public var partialRefund = PartialRefund.keep
  /// `family-sharing`.
  public var familySharing = Granting.grant
  /// `untyped-products`: products whose type the evidence does not say.
  public var untypedProducts = Granting.grant
  /// `unsigned-evidence`.
  public var unsignedEvidence = UnsignedEvidence.import
  /// `future-skew-seconds`: how far in the future evidence may be dated.
  public var futureSkewSeconds = 300
  /// The largest piece of evidence, in bytes.
  public var evidenceBytesMax = 4_194_304
  /// `acknowledge-after-seconds`: the age at which an unacknowledged purchase of Google's enters the queue.
  public var acknowledgeAfterSeconds = 0
  /// `formerly-paid`: products that those have who paid for the app before a version.
  var formerlyPaid: [FormerlyPaid] = []
  /// `subscriptions`: whether a subscription entitles to its product while it runs.
  package var subscriptions = Subscriptions.hold
  /// `sandbox-grant-days`: how long everybody's test purchases count in a ledger of real ones.
  package var sandboxGrantDays = 0

  /// The defaults.
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
      ("formerly-paid", FormerlyPaid.text(formerlyPaid)), ("subscriptions", subscriptions.rawValue),
      ("sandbox-grant-days", String(sandboxGrantDays)),
    ]
  }

  /// Sets a policy by its name.
  ///
  /// - Throws: `LedgerError` with code `configuration` that names the policy and its allowed values.
  package mutating func set(_ name: String, to value: String) throws(LedgerError) {
    switch name {
    case "environment":
      let named = StoreEnvironment(storeText: value)
      // Not the other spellings of old notifications.
      guard named.code != nil, named.rawValue.lowercased() == value.lowercased() else {
        throw Self.unknown(value, for: name, allowed: ["production", "sandbox"])
      }
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
    case "formerly-paid":
      guard let list = FormerlyPaid.list(value) else {
        throw Self.unknown(value, for: name, allowed: ["a list such as region.us:3.0,region.fr:2.1"])
      }
      formerlyPaid = list
    case "subscriptions": subscriptions = try Self.parse(value, for: name)
    case "sandbox-grant-days": sandboxGrantDays = try Self.parse(value, for: name, within: 0...90)
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
      .configuration, at: "policy \(name)", "does not know \"\(value)\"",
      remedy: "set it to \(allowed.joined(separator: " or "))"
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
