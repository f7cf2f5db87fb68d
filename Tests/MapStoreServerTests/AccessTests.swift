import Foundation
import MapStoreServer
import MapStoreWire
import PurchaseLedger
import StoreSimulators
import TestSupport
import Testing

/// No account can access the data of another one.
@Suite(.ownThread) struct AccessTests {
  /// Every route that needs a session, without one and with an invalid one.
  @Test(arguments: StoreRoute.all.filter { $0.access == .session })
  func sessionIsNeeded(_ route: StoreRoute) async throws {
    try await TestStore.run { store in
      for token in [nil, "nonsense", String(repeating: "A", count: 43)] {
        let answer = try await store.send(route.method.rawValue, route.path, token: token, body: Array("{}".utf8))
        #expect(answer.status == 401, "\(route) \(answer)")
        #expect(try answer.problem().type == .unauthorized && answer["WWW-Authenticate"] == "Bearer")
      }
    }
  }

  /// What is sold is the operator's to know: a stranger behind the proxy, and one who says that he comes from here.
  @Test func metricsAreForTheOperator() async throws {
    try await TestStore.run {
      $0.trustedProxies = ["127.0.0.1"]
      $0.metricsFrom = ["127.0.0.1", "198.51.100.7"]
    } _: { store in
      for (fields, status) in [
        ([:], 200), (["X-Forwarded-For": "203.0.113.7"], 404), (["Forwarded": "for=203.0.113.7"], 404),
        (["X-Forwarded-For": "127.0.0.1, 203.0.113.7"], 404), (["X-Forwarded-For": "198.51.100.7"], 200),
      ] as [([String: String], Int)] {
        let answer = try await store.send("GET", StoreRoute.metrics.path, fields)
        #expect(answer.status == status, "\(fields)")
      }
    }
    // A proxy that nobody named passes it on.
    try await TestStore.run { store in
      let answer = try await store.send("GET", StoreRoute.metrics.path, ["X-Forwarded-For": "203.0.113.7"])
      #expect(answer.status == 404)
    }
  }

  /// An account sees only its own data, whatever another one owns.
  @Test func accountsSeeThemselvesOnly() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let bert = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let account = try await store.send("GET", StoreRoute.account.path, token: bert.token)
      #expect(try WireJSON.decode(AccountDetails.self, from: account.body) == bert.session.account)
      #expect(bert.session.account != anna.session.account)
      #expect(try await store.library(of: bert)["alps"]?.status == .forSale)
      let signed = try await store.send("GET", StoreRoute.grants.path, token: bert.token)
      #expect(try GrantChecks.document(signed).grants.isEmpty)
      for request in [
        DownloadRequest(regionId: "alps", kind: .bundle),
        DownloadRequest(regionId: "alps", kind: .patch, fromEdition: "1"),
        DownloadRequest(regionId: "alps", kind: .pack, file: "alps-1-overview.mbtiles"),
      ] {
        let answer = try await store.send("POST", StoreRoute.downloads.path, token: bert.token, request)
        #expect(try answer.status == 403 && answer.problem().type == .notOwned, "\(answer)")
      }
      // Signing out, changing the password and erasing touch one's own account only.
      #expect(try await store.send("DELETE", StoreRoute.signOutEverywhere.path, token: bert.token).status == 204)
      #expect(try await store.send("GET", StoreRoute.account.path, token: bert.token).status == 401)
      #expect(try await store.library(of: anna)["alps"]?.status == .ownedNotInstalled)
    }
  }

  /// A new password, a sign-out everywhere and an erasure need the account's own password, and do not end sessions of
  /// other accounts.
  @Test func passwordChangesAndErasuresNeedTheOwnPassword() async throws {
    try await TestStore.run { store in
      let anna = try await store.person(registering: "anna")
      let bert = try await store.person(registering: "bert")
      // Bert's session with Anna's password is refused, and the other way round.
      let foreign = "the password of somebody else"
      for (method, path, body) in [
        (
          "PUT", StoreRoute.changePassword.path,
          try WireJSON.encode(PasswordChange(password: foreign, newPassword: "another long one"))
        ),
        ("DELETE", StoreRoute.eraseAccount.path, try WireJSON.encode(AccountErasure(password: foreign))),
      ] {
        let answer = try await store.send(method, path, token: bert.token, body: body)
        #expect(try answer.status == 403 && answer.problem().type == .wrongCredentials, "\(answer)")
      }
      let changed = try await store.send(
        "PUT", StoreRoute.changePassword.path, token: bert.token,
        PasswordChange(password: "a long password", newPassword: "bert's new password"))
      #expect(changed.status == 204, "\(changed)")
      #expect(try await store.send("GET", StoreRoute.account.path, token: bert.token).status == 401)
      #expect(try await store.send("GET", StoreRoute.account.path, token: anna.token).status == 200)
      let again = try await store.signIn(Credentials(login: "bert", password: "bert's new password"))
      let erased = try await store.send(
        "DELETE", StoreRoute.eraseAccount.path, token: again.token, AccountErasure(password: "bert's new password"))
      #expect(erased.status == 204, "\(erased)")
      #expect(try await store.send("GET", StoreRoute.account.path, token: again.token).status == 401)
      #expect(try await store.send("GET", StoreRoute.account.path, token: anna.token).status == 200)
    }
  }

  /// Only owners of its region can download a pack.
  @Test func filesBelongToTheirRegion() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let answer = try await store.send(
        "POST", StoreRoute.downloads.path, token: anna.token,
        DownloadRequest(regionId: "alps", kind: .pack, file: "rhine-1-overview.mbtiles"))
      #expect(answer.status == 404)
    }
  }

  /// A purchase of another account is refused, and left to that account's app.
  @Test func anothersPurchaseIsRefused() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let bert = try store.person()
      let named = try store.evidence("alps", for: anna)
      let result = try await store.post([named], as: bert, isRestore: true)[0]
      #expect(result.outcome == .refused && result.reason == "token-of-another-account", "\(result)")
      #expect(result.items[0].entitlement == .notYours && !result.shouldFinish && result.isAnotherAccounts)
      #expect(try await store.library(of: anna)["alps"]?.status == .ownedNotInstalled)
      let unnamed = try store.evidence("rhine")
      #expect(try await store.post([unnamed], as: anna)[0].outcome == .booked)
      #expect(try await store.post([unnamed], as: bert, isRestore: true)[0].reason == "claimed-by-another-account")
      #expect(try await store.library(of: bert)["rhine"]?.status == .forSale)
      #expect(try store.audits().contains { $0.contains("claimed-by-another-account") })
    }
  }

  @Test func forgedPurchaseIsRefusedAndNotFinished() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      var evidence = try store.evidence("alps", for: anna)
      let other = try EphemeralCA()
      let fact = StoreTransaction(
        store: .apple, environment: .production, transactionID: "1", originalTransactionID: "1",
        productID: TestCatalog.product("alps"), productType: .nonConsumable, purchaseDate: TestStore.now,
        signedDate: TestStore.now, trust: .signed, statement: .purchased)
      let foreign = String(decoding: try other.transaction(fact, bundleID: TestStore.bundleID), as: UTF8.self)
      let wrongApp = String(decoding: try store.authority.transaction(fact, bundleID: "com.other"), as: UTF8.self)
      evidence.replaceSubrange(evidence.index(evidence.endIndex, offsetBy: -20)..., with: "AAAAAAAAAAAAAAAAAAAA")
      let results = try await store.post([evidence, foreign, wrongApp, "", "{}", "nonsense"], as: anna)
      #expect(results.allSatisfy { $0.outcome == .refused && !$0.shouldFinish && !$0.isAnotherAccounts }, "\(results)")
      #expect(results.prefix(3).map(\.reason) == ["bad-signature", "untrusted-chain", "wrong-bundle"])
      #expect(try await store.library(of: anna).values.allSatisfy { $0.status == .forSale })
    }
  }

  @Test func passwordsAndSessions() async throws {
    try await TestStore.run { store in
      let anna = try await store.person(registering: "Anna ")
      let credentials = try #require(anna.credentials)
      #expect(try await store.send("POST", StoreRoute.register.path, credentials).status == 409)
      // Seven characters of 14 bytes; and a login that looks like another's.
      for (login, password) in [
        ("b", "short"), ("b", "пароль1"), ("an\u{202e}na", "long enough"), ("b\u{7}", "long enough"),
      ] {
        let refused = try await store.send(
          "POST", StoreRoute.register.path, Credentials(login: login, password: password))
        #expect(try refused.status == 422 && refused.problem().type == .unusableCredentials, "\(refused)")
      }
      let wrong = Credentials(login: "anna", password: "another password")
      for credentials in [wrong, Credentials(login: "nobody", password: "another password")] {
        let answer = try await store.send("POST", StoreRoute.signIn.path, credentials)
        #expect(try answer.status == 401 && answer.problem().type == .wrongCredentials)
      }
      let second = try await store.signIn(credentials)
      #expect(try await store.send("DELETE", StoreRoute.signOut.path, token: second.token).status == 204)
      #expect(try await store.send("GET", StoreRoute.account.path, token: second.token).status == 401)
      #expect(try await store.send("GET", StoreRoute.account.path, token: anna.token).status == 200)
      let denied = try await store.send(
        "PUT", StoreRoute.changePassword.path, token: anna.token,
        PasswordChange(password: "wrong one", newPassword: "a new password"))
      #expect(denied.status == 403)
      let changed = try await store.send(
        "PUT", StoreRoute.changePassword.path, token: anna.token,
        PasswordChange(password: credentials.password, newPassword: "a new password"))
      #expect(changed.status == 204)
      #expect(try await store.send("GET", StoreRoute.account.path, token: anna.token).status == 401)
      let again = try await store.signIn(Credentials(login: "anna", password: "a new password"))
      let kept = try await store.send(
        "DELETE", StoreRoute.eraseAccount.path, token: again.token, AccountErasure(password: "wrong one"))
      #expect(kept.status == 403)
      let erased = try await store.send(
        "DELETE", StoreRoute.eraseAccount.path, token: again.token, AccountErasure(password: "a new password"))
      #expect(erased.status == 204)
      #expect(try await store.send("GET", StoreRoute.account.path, token: again.token).status == 401)
    }
  }

  @Test func sessionsEndByThemselves() async throws {
    try await TestStore.run { options in
      options.sessionSeconds = 100
    } _: { store in
      let anna = try await store.person(registering: "anna")
      #expect(anna.session.expiresAt == TestStore.now + 100_000)
      store.wait(milliseconds: 100_001)
      #expect(try await store.send("GET", StoreRoute.account.path, token: anna.token).status == 401)
    }
  }
}
