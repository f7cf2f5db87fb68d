/// The rules that an operator chooses; names and defaults are in docs/ledger.md, Policies.
public struct LedgerPolicy: Sendable, Hashable {
  public enum SecondClaim: String, Sendable, CaseIterable { case refuse, transfer }
  public enum UnknownToken: String, Sendable, CaseIterable { case claimable, refuse }
  public enum PartialRefund: String, Sendable, CaseIterable { case keep, revoke }
  public enum Granting: String, Sendable, CaseIterable { case grant, withhold }
  public enum UnsignedEvidence: String, Sendable, CaseIterable { case `import`, refuse }

  /// Which environment grants.
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
