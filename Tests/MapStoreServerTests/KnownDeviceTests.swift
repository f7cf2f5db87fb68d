import Accounts
import MapStoreWire
import Support
import TestSupport
import Testing

@testable import MapStoreServer
@testable import PurchaseLedger

/// Limits of password attempts, and the part of them that is reserved for known devices.
@Suite(.ownThread) struct KnownDeviceTests {
  /// Wrong passwords can lock out unknown devices, never one that has signed in before: neither by the login's attempts
  /// nor by the address's.
  @Test func knownDevicesAreNotLockedOut() async throws {
    try await TestStore.run {
      $0.limits.passwordsByLogin = .init(burst: 2, perMinute: 0)
      $0.limits.passwordsByLoginEverywhere = .init(burst: 6, perMinute: 0)
      $0.limits.passwordsByAddress = .init(burst: 3, perMinute: 0)
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
      let foreign = try await store.server.service.devices.note(
        nil, of: AccountID.random(), generation: 1, now: TestStore.now)
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

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// A token is known for its account, under the password of its sign-in, for a year from the last one.
  @Test func tokensEndWithPasswordAndYear() async throws {
    let devices = try KnownDevices(path: folder.file("x.shop"))
    let (anna, year) = (AccountID.random(), KnownDevices.lasting)
    let token = try await devices.note(nil, of: anna, generation: 1, now: 1000)
    func isKnown(_ token: String, of account: AccountID, _ generation: Int64, now: Int64 = 2000) async throws -> Bool {
      try await devices.device(token, of: account, generation: generation, now: now) != nil
    }
    #expect(try await isKnown(token, of: anna, 1, now: year))
    #expect(try await !isKnown(token, of: anna, 1, now: year + 1000))
    #expect(try await !isKnown(token, of: anna, 2))
    #expect(try await !isKnown(token, of: .random(), 1))
    for wrong in ["", ".", token + "0", String(token.dropLast()), String(repeating: "x", count: 300)] {
      #expect(try await !isKnown(wrong, of: anna, 1), "\(wrong)")
    }
    // The next sign-in under another password ends those of the earlier one.
    let next = try await devices.note(nil, of: anna, generation: 2, now: 3000)
    #expect(try await isKnown(next, of: anna, 2))
    #expect(try await !isKnown(token, of: anna, 1))
    // Another process on the same file knows it too.
    let other = try KnownDevices(path: folder.file("x.shop"))
    #expect(try await other.device(next, of: anna, generation: 2, now: 3000) != nil)
  }

  /// Signing in again and again collects no tokens: the device that signed in least recently is unknown.
  @Test func accountsHaveFewDevices() async throws {
    let devices = try KnownDevices(path: folder.file("x.shop"))
    let anna = AccountID.random()
    let first = try await devices.note(nil, of: anna, generation: 1, now: 0)
    var tokens: [String] = []
    for time in 1...Int64(KnownDevices.devicesMax + 1) {
      if time == 5 { _ = try await devices.note(first, of: anna, generation: 1, now: time) }
      tokens.append(try await devices.note(nil, of: anna, generation: 1, now: time))
    }
    var known = 0
    for token in tokens + [first] where try await devices.device(token, of: anna, generation: 1, now: 100) != nil {
      known += 1
    }
    #expect(known == KnownDevices.devicesMax && KnownDevices.devicesMax <= 10)
    #expect(try await devices.device(first, of: anna, generation: 1, now: 100) != nil)
    #expect(try await devices.device(tokens[0], of: anna, generation: 1, now: 100) == nil)
  }

  /// However many devices a stranger signed in, spellings, addresses and sessions he has: one limit for the login.
  @Test func oneLimitForALoginWhateverTheToken() async throws {
    try await TestStore.run {
      $0.limits.passwordsByLogin = .init(burst: 2, perMinute: 0)
      $0.limits.passwordsByLoginEverywhere = .init(burst: 6, perMinute: 0)
      $0.trustedProxies = ["127.0.0.1"]
    } _: { store in
      let anna = try await store.person(registering: "anna")
      let account = try #require(AccountID(anna.session.account.id))
      let generation = try #require(try store.ledger.accounts.passwordGeneration(of: account))
      var tokens: [String?] = [nil]
      for _ in 0..<4 {
        tokens.append(
          try await store.server.service.devices.note(nil, of: account, generation: generation, now: TestStore.now))
      }
      var statuses: [Int] = []
      for number in 0..<10 {
        let credentials = Credentials(
          login: number % 2 == 0 ? "anna" : " ANNA", password: "wrong \(number)",
          deviceToken: tokens[number % tokens.count])
        let answer = try await store.send(
          "POST", StoreRoute.signIn.path, ["X-Forwarded-For": "10.1.0.\(number)"],
          body: try WireJSON.encode(credentials))
        statuses.append(answer.status)
      }
      // The sign-in of the registration is one of the six.
      #expect(statuses.count { $0 == 401 } == 5 && Set(statuses) == [401, 429], "\(statuses)")
      let change = try await store.send(
        "PUT", StoreRoute.changePassword.path, token: anna.token,
        PasswordChange(password: "a long password", newPassword: "another password"))
      #expect(change.status == 429)
    }
  }

  /// Half of a surrogate pair is read as a replacement character, so that all such logins would be one: no account
  /// gets it.
  @Test(arguments: [
    #"\ud800"#, #"\udfff"#, #"anna\ud83d"#, #"\ude00\ud83d"#, #"\ud83d\u0061"#, #"\ud83d\ud83d\ude00"#, "\u{0}",
  ])
  func halvesOfPairsAreNoLogin(_ login: String) async throws {
    try await TestStore.run { store in
      // NUL stands for the three bytes that CESU-8 has for one half.
      let escaped = login == "\u{0}" ? [0xed, 0xa0, 0x80] : Array(login.utf8)
      let body = Array(#"{"login":""#.utf8) + escaped + Array(#"","password":"a long password"}"#.utf8)
      let refused = try await store.send("POST", StoreRoute.register.path, body: body)
      #expect(refused.status == 422 && refused.text.contains("damaged character (U+FFFD)"), "\(refused)")
      #expect(try await store.send("POST", StoreRoute.signIn.path, body: body).status == 401)
      #expect(try store.ledger.accounts.list().isEmpty)
    }
  }

  /// What was given under a password ends with it: device tokens, sessions and download links.
  @Test func passwordChangesEndTokensAndLinks() async throws {
    try await TestStore.run {
      $0.limits.passwordsByLoginEverywhere = .init(burst: 6, perMinute: 0)
    } _: { store in
      let anna = try await store.person(registering: "anna")
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let link = try await store.ticket("alps", as: anna).url
      #expect(try await store.send("GET", link, ["Range": "bytes=0-9"]).status == 206)
      let before = try #require(anna.session.deviceToken)
      let change = try await store.send(
        "PUT", StoreRoute.changePassword.path, token: anna.token,
        PasswordChange(password: "a long password", newPassword: "another password"))
      #expect(change.status == 204, "\(change)")
      let refused = try await store.send("GET", link, ["Range": "bytes=0-9"])
      #expect(try refused.status == 403 && refused.problem().type == .linkRefused, "\(refused)")
      // One more attempt is for strangers, three are reserved for known devices: this one is none any more.
      var next = Credentials(login: "anna", password: "another password", deviceToken: before)
      var statuses: [Int] = []
      for _ in 0..<2 {
        statuses.append(try await store.send("POST", StoreRoute.signIn.path, next).status)
      }
      #expect(statuses == [201, 429])
      next.deviceToken = nil
      #expect(try await store.send("POST", StoreRoute.signIn.path, next).status == 429)
    }
  }

  /// The link of an erased account, and one that somebody extends to another password, lead nowhere.
  @Test func linksNameThePassword() async throws {
    try await TestStore.run { store in
      let anna = try await store.person(registering: "anna")
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let link = try await store.ticket("alps", as: anna).url
      let account = try #require(AccountID(anna.session.account.id))
      let old = try #require(try store.ledger.accounts.passwordGeneration(of: account))
      // By another program on the same ledger, within the same millisecond.
      try await store.ledger.accounts.changePassword(of: account, to: "another password")
      let new = try #require(try store.ledger.accounts.passwordGeneration(of: account))
      #expect(new > old && link.contains("&g=\(old)&"))
      #expect(try await store.send("GET", link).status == 403)
      #expect(try await store.send("GET", link.replacing("&g=\(old)&", with: "&g=\(new)&")).status == 403)
      try await store.ledger.accounts.erase(account)
      #expect(try await store.send("GET", link).status == 403)
    }
  }
}
