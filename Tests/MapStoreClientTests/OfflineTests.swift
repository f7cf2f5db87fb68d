import Crypto
import Foundation
import MapStoreWire
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreClient

/// Ownership without network: signed, limited in time, and protected against a changed clock.
@Suite(.ownThread) struct OfflineTests {
  private let key = Curve25519.Signing.PrivateKey()
  private let shop: SampleShop
  private let store: ChaosStore
  private let device: Device
  private static let day: Int64 = 86_400_000
  private static let issued: Int64 = 1_700_000_000_000

  init() throws {
    shop = try SampleShop()
    try shop.publish("alps")
    store = try ChaosStore(shop)
    device = try Device(store)
  }

  private static func text(_ bytes: some Sequence<UInt8>) -> String {
    Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  private static func published(_ key: Curve25519.Signing.PrivateKey, as id: String) -> GrantKey {
    GrantKey(keyId: id, algorithm: "Ed25519", publicKey: text(key.publicKey.rawRepresentation))
  }

  private func signed(
    _ regions: [String] = ["alps"], account: String = "a", issued: Int64 = issued, days: Int64 = 30,
    until: Int64? = nil, key: Curve25519.Signing.PrivateKey? = nil, keyID: String = "k1",
    change: (inout [UInt8]) -> Void = { _ in }
  ) throws -> SignedGrants {
    let document = GrantDocument(
      accountId: account, issuedAt: issued, expiresAt: issued + days * Self.day,
      grants: regions.map { RegionGrant(regionId: $0, productId: "region.\($0)", since: 0, until: until) })
    var payload = try WireJSON.encode(document)
    let signature = try (key ?? self.key).signature(for: SignedGrants.signedBytes(of: payload))
    change(&payload)
    return SignedGrants(payload: Self.text(payload), signature: Self.text(signature), keyId: keyID)
  }

  private func manager(
    offlineMax: Int64 = 90 * day, keysChanged: (@Sendable ([GrantKey]) -> Void)? = nil
  ) throws -> OfflineRegionManager {
    var rule = OfflineGrants.Rule(keys: [Self.published(key, as: "k1")], keysChanged: keysChanged)
    rule.offlineMax = offlineMax
    return try OfflineRegionManager(
      folder: device.folder.path, options: Device.options { $0.clock = DeviceClock { Self.issued } }, grants: rule)
  }

  private func give(_ grants: SignedGrants, to manager: OfflineRegionManager) async throws {
    store.book.withLock { $0.grants = grants }
    try await manager.refreshGrants(from: device.client)
  }

  @Test func countsUntilItsEnd() async throws {
    let manager = try manager()
    #expect(try manager.usability(of: "alps") == .unknown)
    try await give(try signed(), to: manager)
    let end = Self.issued + 30 * Self.day
    #expect(try manager.usability(of: "alps", at: Self.issued + Self.day) == .usable(until: end))
    #expect(try manager.usability(of: "coast", at: Self.issued + Self.day) == .notOwned)
    #expect(try manager.usability(of: "alps", at: end - 1).isUsable)
    #expect(try manager.usability(of: "alps", at: end) == .expired(end))
  }

  @Test func theAppMayAllowLess() async throws {
    let manager = try manager(offlineMax: 7 * Self.day)
    try await give(try signed(), to: manager)
    #expect(try manager.usability(of: "alps", at: Self.issued + 7 * Self.day - 1).isUsable)
    #expect(try manager.usability(of: "alps", at: Self.issued + 7 * Self.day) == .expired(Self.issued + 7 * Self.day))
  }

  /// A region of a subscription opens for a week after its end, and again with the grants of its renewal.
  @Test func aSubscriptionEndsAfterItsGrace() async throws {
    let manager = try manager()
    let end = Self.issued + 5 * Self.day
    try await give(try signed(until: end), to: manager)
    let last = end + 7 * Self.day
    #expect(try manager.usability(of: "alps", at: end + Self.day) == .usable(until: last))
    #expect(try manager.usability(of: "alps", at: last) == .expired(last))
    // A clock that is set back extends nothing.
    #expect(try manager.usability(of: "alps", at: last - Self.day / 2) == .expired(last))
    try await give(try signed(issued: Self.issued + 1, until: end + 30 * Self.day), to: manager)
    #expect(try manager.isUsable("alps", at: last + Self.day))
  }

  @Test func aClockThatIsSetBackIsNoticed() async throws {
    do {
      let manager = try manager()
      try await give(try signed(), to: manager)
      #expect(try manager.isUsable("alps", at: Self.issued + 29 * Self.day))
    }
    // The latest time is stored.
    let manager = try manager()
    #expect(try manager.usability(of: "alps", at: Self.issued + 10 * Self.day) == .clockSetBack(by: 19 * Self.day))
    // A small difference is tolerated, and extends nothing.
    #expect(try manager.isUsable("alps", at: Self.issued + 28 * Self.day + Self.day / 2))
    #expect(try manager.usability(of: "alps", at: Self.issued + 31 * Self.day) == .expired(Self.issued + 30 * Self.day))
    #expect(try !manager.isUsable("alps", at: Self.issued + 30 * Self.day - 1))
    // Only the server can correct it.
    try await give(try signed(issued: Self.issued + 5 * Self.day), to: manager)
    #expect(try manager.isUsable("alps", at: Self.issued + 5 * Self.day))
  }

  /// If no document can be fetched, purchases are recorded all the same, and the call does not wait for another
  /// attempt.
  @Test func aPurchaseDoesNotNeedItsGrant() async throws {
    struct Queue: StoreQueue {
      func outstanding() async throws -> [OutstandingTransaction] { [OutstandingTransaction(id: "1", signed: "alps")] }
      func finish(_ id: String) async throws {}
    }
    let manager = try manager()
    #expect(try await manager.submit(Queue(), to: device.client).map(\.result.outcome) == [.booked])
    #expect(store.count("GET /v1/grants") == 1)
    try await manager.install("alps", from: device.client)
    #expect(try manager.usability(of: "alps") == .unknown && store.count("GET /v1/grants") == 2)
    store.book.withLock { $0.grants = try? signed() }
    try await manager.install("alps", from: device.client)
    #expect(try manager.isUsable("alps"))
  }

  /// The document belongs to one account: it grants nothing to the next one, however the session ended.
  @Test func anotherPersonSignsIn() async throws {
    let manager = try manager()
    try await give(try signed(), to: manager)
    try await manager.belong(to: "a")
    #expect(try manager.isUsable("alps"))
    try await manager.belong(to: "b")
    #expect(try manager.usability(of: "alps") == .unknown)
    // Copied by hand.
    try manager.state.set("grants", String(decoding: try WireJSON.encode(try signed()), as: UTF8.self))
    #expect(try manager.usability(of: "alps") == .notOwned)
  }

  /// A clock that was once years ahead must not lock the maps for years.
  @Test func aClockThatWasTooFarAheadIsForgivenByTheServer() async throws {
    let manager = try manager()
    try await give(try signed(), to: manager)
    #expect(try !manager.isUsable("alps", at: Self.issued + 4000 * Self.day))
    #expect(try !manager.isUsable("alps", at: Self.issued + Self.day))
    try await give(try signed(issued: Self.issued + 60_000), to: manager)
    #expect(try manager.isUsable("alps", at: Self.issued + Self.day))
  }

  @Test func grantsThatDoNotVerifyAreRefused() async throws {
    let manager = try manager()
    try await give(try signed(), to: manager)
    let good = try signed()
    let other = Curve25519.Signing.PrivateKey()
    let bad: [(String, SignedGrants)] = [
      ("another key", try signed(["alps", "coast"], issued: Self.issued + 1, key: other)),
      ("changed after it was signed", try signed(issued: Self.issued + 1) { $0[$0.count / 2] ^= 1 }),
      ("another account", try signed(account: "b", issued: Self.issued + 1)),
      ("older", try signed(["alps", "coast"], issued: Self.issued - 1)),
      ("unknown key", SignedGrants(payload: good.payload, signature: good.signature, keyId: "k2")),
      ("no base64", SignedGrants(payload: good.payload + "=", signature: good.signature, keyId: "k1")),
      ("no signature", SignedGrants(payload: good.payload, signature: "", keyId: "k1")),
    ]
    for (name, grants) in bad {
      await #expect("\(name)") { try await give(grants, to: manager) } throws: {
        // An invalid base64 text is not a message of the server.
        ($0 as? MapStoreError)?.code == (name == "no base64" ? .damaged : .grant)
      }
      #expect(try manager.isUsable("alps", at: Self.issued + Self.day), "\(name)")
      #expect(try !manager.isUsable("coast", at: Self.issued + Self.day), "\(name)")
    }
  }

  /// The server changes its key: an app that fetches keys requests them once, one with built-in keys accepts no other.
  @Test(arguments: [true, false])
  func keysRotate(isFetching: Bool) async throws {
    let kept = Locked<[GrantKey]>([])
    let keep: @Sendable ([GrantKey]) -> Void = { keys in kept.withLock { $0 = keys } }
    let manager = try manager(keysChanged: isFetching ? keep : nil)
    try await give(try signed(), to: manager)
    let new = Curve25519.Signing.PrivateKey()
    store.book.withLock { $0.grantKeys = [Self.published(new, as: "k2")] }
    let next = try signed(["alps", "coast"], issued: Self.issued + 1, key: new, keyID: "k2")
    if isFetching {
      // A document that was issued earlier is refused with a new key too.
      let older = try signed(["alps", "coast"], issued: Self.issued - 1, key: new, keyID: "k2")
      await #expect { try await give(older, to: manager) } throws: { ($0 as? MapStoreError)?.code == .grant }
      #expect(kept.withLock { $0.isEmpty } && store.count("GET /v1/grants/key") == 1)
      try await give(next, to: manager)
      #expect(kept.withLock { $0.map(\.keyId) } == ["k2"] && store.count("GET /v1/grants/key") == 2)
      #expect(try manager.isUsable("coast", at: Self.issued + Self.day))
      // The key is known now.
      try await give(try signed(issued: Self.issued + 2, key: new, keyID: "k2"), to: manager)
      #expect(store.count("GET /v1/grants/key") == 2)
      // A key that the server does not publish either.
      let foreign = try signed(issued: Self.issued + 3, key: Curve25519.Signing.PrivateKey(), keyID: "k3")
      await #expect { try await give(foreign, to: manager) } throws: { ($0 as? MapStoreError)?.code == .grant }
    } else {
      await #expect { try await give(next, to: manager) } throws: { ($0 as? MapStoreError)?.code == .grant }
      #expect(store.count("GET /v1/grants/key") == 0 && kept.withLock { $0.isEmpty })
    }
    #expect(try manager.isUsable("alps", at: Self.issued + Self.day))
  }

  /// Editing the state file grants nothing.
  @Test func aChangedStateFileGrantsNothing() async throws {
    let manager = try manager()
    try await give(try signed(), to: manager)
    let forged = try signed(["alps", "coast"], issued: Self.issued + 1, key: Curve25519.Signing.PrivateKey())
    try manager.state.set("grants", String(decoding: try WireJSON.encode(forged), as: UTF8.self))
    #expect(try manager.usability(of: "coast", at: Self.issued) == .unknown)
    #expect(try manager.usability(of: "alps", at: Self.issued) == .unknown)
  }

  @Test func base64urlHasOneTextForTheSameBytes() {
    #expect(Base64URL.decode("") == [])
    #expect(Base64URL.decode("_-8") == [0xff, 0xef])
    for text in ["A", "AB", "ABC=", "+/8", "A B", "_-9", "é"] { #expect(Base64URL.decode(text) == nil, "\(text)") }
    var random = SeededGenerator(seed: 1)
    for count in 0..<70 {
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      #expect(Base64URL.decode(Self.text(bytes)) == bytes)
    }
  }
}
