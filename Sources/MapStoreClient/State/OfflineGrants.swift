public import MapStoreWire
import Support
import Synchronization

/// The signed grants of an account, for the time without network.
///
/// The document is stored as received and verified whenever it is read, so editing the state file grants nothing. The
/// latest time ever seen is stored as well, so setting back the clock extends nothing. Somebody who can write the state
/// file can restore an older copy of it; only the system's key store would help against that.
public struct OfflineGrants: Sendable {
  /// The rules of verification. Times are in milliseconds.
  public struct Rule: Sendable {
    /// The trusted keys: built into the app, or fetched at sign-in and stored.
    public var keys: [GrantKey] = []
    /// For apps that fetch the keys: called with new keys, to store them. If a document is signed with an unknown key,
    /// ``OfflineRegionManager/refreshGrants(from:)`` fetches the server's keys once. Nil for built-in keys: no others
    /// are trusted.
    public var keysChanged: (@Sendable ([GrantKey]) -> Void)?
    /// The longest validity of a document, whatever it says itself.
    public var offlineMax: Int64 = 90 * 86_400_000
    /// How far the clock may be set back, as happens on journeys, before regions cannot be opened.
    public var setBackMax: Int64 = 86_400_000
    /// How long a region of a subscription opens without network after the subscription's end: a week, because it may
    /// have been renewed.
    public var lapseGrace: Int64 = 7 * 86_400_000

    /// Keys that are built in, or kept since `keysChanged` was called with them; without either nothing is verified.
    public init(keys: [GrantKey] = [], keysChanged: (@Sendable ([GrantKey]) -> Void)? = nil) {
      (self.keys, self.keysChanged) = (keys, keysChanged)
    }
  }

  let state: RegionDatabase
  let rule: Rule
  private let keys: TrustedKeys

  init(state: RegionDatabase, rule: Rule) {
    (self.state, self.rule) = (state, rule)
    keys = TrustedKeys(rule.keys)
  }

  private static let documentName = "grants"
  private static let timeName = "greatest_time"
  private static let accountName = "account"
  /// The latest time is written only when it has grown by this.
  private static let timeStep: Int64 = 60_000

  /// Stores a document that the server has just sent.
  ///
  /// - Parameters:
  ///   - accountID: the expected account; nil for any.
  ///   - newKeys: the server's current keys; they replace the trusted ones if the document verifies.
  ///   - now: milliseconds since 1970 by the device's clock.
  /// - Throws: ``MapStoreError`` `.grant` if it does not verify, belongs to another account, or is older than the
  ///   stored one.
  func accept(_ signed: SignedGrants, newKeys: [GrantKey]? = nil, accountID: String?, now: Int64) throws {
    let document = try GrantVerifier(newKeys ?? keys.current).document(signed)
    if let accountID, document.accountId != accountID {
      throw MapStoreError(.grant, "grants", "are of another account", remedy: "sign in again")
    }
    // The stored one is verified with the old keys: a new key must not make an older document acceptable.
    if let old = try self.document(), old.accountId == document.accountId {
      if document.issuedAt < old.issuedAt {
        throw MapStoreError(
          .grant, "grants", "are older than the stored ones", remedy: "fetch them again")
      }
      if document.issuedAt == old.issuedAt, newKeys == nil { return }
    }
    try state.set(Self.documentName, String(decoding: try WireJSON.encode(signed), as: UTF8.self))
    if let newKeys {
      keys.current = newKeys
      rule.keysChanged?(newKeys)
    }
    // The server has signed the time, which corrects a device whose clock was wrong in either direction. Small
    // differences are ignored.
    let isPlausible = abs(now - document.issuedAt) <= rule.setBackMax
    try state.set(Self.timeName, String(isPlausible ? max(now, document.issuedAt) : document.issuedAt))
  }

  /// - Parameter now: milliseconds since 1970 by the device's clock.
  /// - Throws: ``MapStoreError`` `.storage`.
  func usability(of region: String, now: Int64) throws -> Usability {
    guard let document = try self.document() else { return .unknown }
    let greatest = try state.setting(Self.timeName).flatMap { Int64($0) } ?? document.issuedAt
    // Errors are ignored: a full disk must not lock the maps.
    if now > greatest + Self.timeStep { try? state.set(Self.timeName, String(now)) }
    if greatest - now > rule.setBackMax { return .clockSetBack(by: greatest - now) }
    let grants = try document.accountId == accountID() ? self.grants(of: region, in: document) : []
    guard !grants.isEmpty else { return .notOwned }
    var end = min(document.expiresAt, document.issuedAt.addingClamped(rule.offlineMax))
    // Of several grants the one that ends last counts. The file stays, and opens again with a document that has a later
    // end.
    let ends = grants.map { $0.until?.addingClamped(rule.lapseGrace) ?? .max }
    end = min(end, ends.max() ?? .max)
    return max(now, greatest) < end ? .usable(until: end) : .expired(end)
  }

  /// By id, or by product for regions that left the catalogue or have another id there.
  private func grants(of region: String, in document: GrantDocument) throws -> [RegionGrant] {
    let product = try state.product(of: region)
    return document.grants.filter { $0.regionId == region || (product != nil && $0.productId == product) }
  }

  /// The stored document, if it verifies.
  func document() throws -> GrantDocument? {
    guard let text = try state.setting(Self.documentName),
      let signed = try? WireJSON.decode(SignedGrants.self, from: Array(text.utf8))
    else { return nil }
    return try? GrantVerifier(keys.current).document(signed)
  }

  /// Whether any document could verify, now or after a change of keys.
  var trustsSomebody: Bool { rule.keysChanged != nil || !keys.current.isEmpty }

  /// The account that signed in last and did not sign out.
  func accountID() throws -> String? { try state.setting(Self.accountName) }

  func setAccount(_ id: String?) throws { try state.set(Self.accountName, id) }

  /// Whether a document is signed with an unknown key, which may be a new one of the server's.
  func mayBeOfANewKey(_ signed: SignedGrants) -> Bool {
    rule.keysChanged != nil && !keys.current.contains { $0.keyId == signed.keyId }
  }

  /// Deletes the document, when another account signs in.
  func forget() throws { try state.set(Self.documentName, nil) }
}

extension Int64 {
  func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }
}

/// Whether a region may be opened without asking the server.
public enum Usability: Hashable, Sendable {
  /// Until then, in milliseconds since 1970.
  case usable(until: Int64)
  /// The grant was valid until then; the server has to be asked again.
  case expired(Int64)
  /// The account does not own it.
  case notOwned
  /// There is no document that verifies.
  case unknown
  /// The device's clock is earlier than the latest time seen, by so many milliseconds.
  case clockSetBack(by: Int64)

  /// Whether the region may be opened.
  public var isUsable: Bool {
    if case .usable = self { true } else { false }
  }
}
