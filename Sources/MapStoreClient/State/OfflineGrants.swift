import Crypto
public import MapStoreWire
import Synchronization

/// What an account owns, as the server signed it, for the time without network.
///
/// The document is kept as it came and verified whenever it is read, so changing the state file grants nothing. The greatest time that was ever seen is kept as well: a clock that is set back
/// makes nothing last longer. Who may write the state file can put an older one in its place; against that only the system's key store helps.
public struct OfflineGrants: Sendable {
  /// How it is judged. Times are milliseconds.
  public struct Rule: Sendable {
    /// The keys that the app trusts: built in, or fetched at sign-in and kept.
    public var keys: [GrantKey] = []
    /// For apps that fetch the keys: a document that is signed with another key has ``RegionShelf/refreshGrants(from:)`` ask the server for its keys, once, over the same connection as
    /// everything else, and this is told of them, to keep them. Nil for keys that are built in: no others are ever trusted.
    public var keysChanged: (@Sendable ([GrantKey]) -> Void)?
    /// How long a document counts at most, whatever it says itself.
    public var offlineMax: Int64 = 90 * 86_400_000
    /// How far the clock may be set back, as people do who travel or repair a clock, before nothing is opened.
    public var setBackMax: Int64 = 86_400_000

    public init(keys: [GrantKey] = [], keysChanged: (@Sendable ([GrantKey]) -> Void)? = nil) {
      (self.keys, self.keysChanged) = (keys, keysChanged)
    }
  }

  let state: ShelfState
  let rule: Rule
  private let keys: TrustedKeys

  init(state: ShelfState, rule: Rule) {
    (self.state, self.rule) = (state, rule)
    keys = TrustedKeys(rule.keys)
  }

  private static let documentName = "grants"
  private static let timeName = "greatest_time"
  private static let accountName = "account"
  /// The greatest time is written when it has grown by this, not at every look.
  private static let timeStep: Int64 = 60_000

  /// Takes over a document that the server has just sent.
  ///
  /// - Parameters:
  ///   - accountID: whose it must be; nil for anybody's.
  ///   - newKeys: those that the server has by now; trusted in place of the others when the document is good.
  ///   - now: milliseconds since 1970 by the device's clock.
  /// - Throws: ``MapStoreError`` `.grant` when it is not the server's, of another account, or older than the one that is here.
  func accept(_ signed: SignedGrants, newKeys: [GrantKey]? = nil, accountID: String?, now: Int64) throws {
    let document = try GrantVerifier(newKeys ?? keys.current).document(signed)
    if let accountID, document.accountId != accountID {
      throw MapStoreError(.grant, "grants", "are of another account", remedy: "sign in again")
    }
    // Compared by the keys that it was taken with: a new key makes no older document good.
    if let old = try self.document(), old.accountId == document.accountId {
      if document.issuedAt < old.issuedAt {
        throw MapStoreError(
          .grant, "grants", "are older than those that are here", remedy: "ask the server for them again")
      }
      if document.issuedAt == old.issuedAt, newKeys == nil { return }
    }
    try state.set(Self.documentName, String(decoding: try WireJSON.encode(signed), as: UTF8.self))
    if let newKeys {
      keys.current = newKeys
      rule.keysChanged?(newKeys)
    }
    // The server has signed the time. A device whose clock had gone wrong, to whichever side, is believed again from here on; one day apart is no fault.
    let isPlausible = abs(now - document.issuedAt) <= rule.setBackMax
    try state.set(Self.timeName, String(isPlausible ? max(now, document.issuedAt) : document.issuedAt))
  }

  /// - Parameter now: milliseconds since 1970 by the device's clock.
  /// - Throws: ``MapStoreError`` `.shelf`.
  func usability(of region: String, now: Int64) throws -> Usability {
    guard let document = try self.document() else { return .unknown }
    let greatest = try state.setting(Self.timeName).flatMap { Int64($0) } ?? document.issuedAt
    // As well as can be: a disk without room must not lock the maps.
    if now > greatest + Self.timeStep { try? state.set(Self.timeName, String(now)) }
    if greatest - now > rule.setBackMax { return .clockSetBack(by: greatest - now) }
    guard try document.accountId == accountID(), try isGranted(region, by: document) else { return .notOwned }
    let end = min(document.expiresAt, document.issuedAt.addingClamped(rule.offlineMax))
    return max(now, greatest) < end ? .usable(until: end) : .expired(end)
  }

  /// By its id; or by its product, of what the shop has on its shelf no more.
  private func isGranted(_ region: String, by document: GrantDocument) throws -> Bool {
    if document.grants.contains(where: { $0.regionId == region }) { return true }
    guard let product = try state.product(of: region) else { return false }
    return document.grants.contains { $0.regionId == nil && $0.productId == product }
  }

  /// The document that is here, if it is still as the server signed it.
  func document() throws -> GrantDocument? {
    guard let text = try state.setting(Self.documentName),
      let signed = try? WireJSON.decode(SignedGrants.self, from: Array(text.utf8))
    else { return nil }
    return try? GrantVerifier(keys.current).document(signed)
  }

  /// Whether a document could be believed, now or after a change of keys.
  var trustsSomebody: Bool { rule.keysChanged != nil || !keys.current.isEmpty }

  /// Whose shelf it is, as far as is known: who signed in last, and did not sign out. In state files of before the document alone tells it.
  func accountID() throws -> String? { try state.setting(Self.accountName) ?? document()?.accountId }

  func setAccount(_ id: String?) throws { try state.set(Self.accountName, id) }

  /// Whether a document is signed with a key that the server may have changed to since.
  func mayBeOfANewKey(_ signed: SignedGrants) -> Bool {
    rule.keysChanged != nil && !keys.current.contains { $0.keyId == signed.keyId }
  }

  /// Another person signs in.
  func forget() throws { try state.set(Self.documentName, nil) }
}

extension Int64 {
  func addingClamped(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other > 0 ? .max : .min) : sum
  }
}

/// Tells the server's grant documents from others.
struct GrantVerifier: Sendable {
  /// Ed25519 keys by their ids.
  private let keys: [String: Curve25519.Signing.PublicKey]

  /// - Parameter keys: those that the app trusts; what is no Ed25519 key is left out.
  init(_ keys: [GrantKey]) {
    var trusted: [String: Curve25519.Signing.PublicKey] = [:]
    for key in keys where key.algorithm == "Ed25519" {
      guard let bytes = Base64URL.decode(key.publicKey) else { continue }
      trusted[key.keyId] = try? Curve25519.Signing.PublicKey(rawRepresentation: bytes)
    }
    self.keys = trusted
  }

  /// - Throws: ``MapStoreError`` `.grant` for any other document.
  func document(_ signed: SignedGrants) throws -> GrantDocument {
    func refused(_ why: String) -> MapStoreError {
      MapStoreError(.grant, "grants", why, remedy: "ask the server for them again")
    }
    guard let key = keys[signed.keyId] else { throw refused("are signed with a key that is not trusted here") }
    guard let payload = Base64URL.decode(signed.payload), let signature = Base64URL.decode(signed.signature),
      key.isValidSignature(signature, for: SignedGrants.signedBytes(of: payload))
    else { throw refused("are not as the server signed them") }
    let document: GrantDocument
    do {
      document = try WireJSON.decode(GrantDocument.self, from: payload)
      try document.check()
    } catch {
      throw refused("cannot be understood: \(error)")
    }
    guard document.version == GrantDocument.versionNow else {
      throw refused("are of version \(document.version), and only \(GrantDocument.versionNow) is known here")
    }
    return document
  }
}

/// The keys that are trusted now.
final class TrustedKeys: Sendable {
  private let keys: Mutex<[GrantKey]>

  init(_ keys: [GrantKey]) { self.keys = Mutex(keys) }

  var current: [GrantKey] {
    get { keys.withLock { $0 } }
    set { keys.withLock { $0 = newValue } }
  }
}

/// Whether a region may be opened without asking the server.
public enum Usability: Hashable, Sendable {
  /// Milliseconds since 1970: until when.
  case usable(until: Int64)
  /// It was owned until this time as far as is known here; the server has to be asked again.
  case expired(Int64)
  case notOwned
  /// The server was never asked, or what it said was changed since.
  case unknown
  /// The device's clock is earlier than a time that has been: by how many milliseconds.
  case clockSetBack(by: Int64)

  public var isUsable: Bool {
    if case .usable = self { true } else { false }
  }
}
