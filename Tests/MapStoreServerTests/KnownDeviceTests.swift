import MapStoreWire
import Support
import TestSupport
import Testing

@testable import MapStoreServer
@testable import PurchaseLedger

/// Limits of password attempts, and devices that are exempt.
@Suite(.ownThread) struct KnownDeviceTests {
  /// Wrong passwords can lock out unknown devices, never one that has signed in before: neither by the login's attempts
  /// nor by the address's.
  @Test func knownDevicesAreNotLockedOut() async throws {
    try await TestStore.run {
      $0.limits.passwordsByLogin = .init(burst: 2, perMinute: 1)
      $0.limits.passwordsByLoginEverywhere = .init(burst: 4, perMinute: 1)
      $0.limits.passwordsByAddress = .init(burst: 3, perMinute: 1)
      $0.trustedProxies = ["127.0.0.1"]
    } _: { store in
      func signIn(_ password: String, from address: String, device: String? = nil) async throws -> HTTPResponse {
        let credentials = Credentials(login: "anna", password: password, deviceToken: device)
        return try await store.send(
          "POST", StoreRoute.signIn.path, ["X-Forwarded-For": address], body: try WireJSON.encode(credentials))
      }
      let anna = try await store.person(registering: "anna")
      let token = try #require(anna.session.deviceToken)
      var statuses: [Int] = []
      // By login and address, then by login.
      for address in ["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3"] {
        statuses.append(try await signIn("a wrong password", from: address).status)
      }
      #expect(statuses == [401, 401, 429, 401, 429])
      #expect(try await signIn("a long password", from: "10.0.0.4").status == 429)
      #expect(try await signIn("a long password", from: "10.0.0.4", device: token + "0").status == 429)
      let bert = DeviceTokens.newDevice(of: AccountID.random())
      let foreign = store.server.service.devices.token(of: bert, now: TestStore.now)
      #expect(try await signIn("a long password", from: "10.0.0.4", device: foreign).status == 429)
      // An attacker with many addresses fills the table.
      for number in 0..<100_000 { _ = store.server.service.passwordsByLogin.take("stranger \(number)") }
      // From the address of the attempts.
      let known = try await signIn("a long password", from: "10.0.0.1", device: token)
      #expect(known.status == 201, "\(known)")
      // It is still one device with one limit of attempts.
      let next = try #require(try WireJSON.decode(SessionDetails.self, from: known.body).deviceToken)
      #expect(try await signIn("a wrong password", from: "10.0.0.1", device: next).status == 401)
      #expect(try await signIn("a long password", from: "10.0.0.1", device: next).status == 429)
    }
  }

  @Test func deviceTokensLastAYear() throws {
    let tokens = DeviceTokens(secret: Array(repeating: 7, count: 32))
    let device = DeviceTokens.newDevice(of: AccountID.random())
    let text = tokens.token(of: device, now: 1000)
    #expect(tokens.device(text, now: 2000) == device && text.utf8.count < 200)
    #expect(tokens.device(text, now: 365 * 86_400_000 + 1000) == nil)
    #expect(DeviceTokens(secret: Array(repeating: 8, count: 32)).device(text, now: 2000) == nil)
    for wrong in ["", ".", "1.2.3.4.5", text.replacing(device.id, with: "x"), "\(text).", String(text.dropLast())] {
      #expect(tokens.device(wrong, now: 2000) == nil, "\(wrong)")
    }
  }
}
