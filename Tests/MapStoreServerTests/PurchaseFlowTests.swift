import Foundation
import MapStoreWire
import PurchaseLedger
import TestSupport
import Testing

/// From registration to an installed region, refunds and new editions.
@Suite(.ownThread) struct PurchaseFlowTests {
  @Test func signUpBuyListDownloadResume() async throws {
    try await TestStore.run { store in
      let person = try store.person()
      #expect(try await store.library(of: person).values.allSatisfy { $0.status == .forSale })
      let results = try await store.post([try store.evidence("alps", for: person)], as: person)
      #expect(results.count == 1 && results[0].outcome == .booked && results[0].shouldFinish, "\(results)")
      #expect(results[0].items.map(\.regionId) == ["alps"] && results[0].items[0].entitlement == .active)
      #expect(results[0].environment == "production")
      let library = try await store.library(of: person)
      #expect(library["alps"]?.status == .ownedNotInstalled && library["rhine"]?.status == .forSale)

      let ticket = try await store.ticket("alps", as: person)
      let whole = try store.catalog.bytes(ticket.file)
      #expect(ticket.bytes == whole.count && ticket.file == "alps-1.mbtiles")
      let first = try await store.send("GET", ticket.url, ["Range": "bytes=0-99999"])
      #expect(first.status == 206 && first["Content-Range"] == "bytes 0-99999/\(whole.count)", "\(first)")
      #expect(first["ETag"] == "\"\(ticket.sha256)\"" && first.body == Array(whole[..<100_000]))
      let rest = try await store.send("GET", ticket.url, ["Range": "bytes=100000-", "If-Range": first["ETag"]!])
      #expect(rest.status == 206 && first.body + rest.body == whole)
      #expect(rest["Content-Disposition"] == "attachment; filename*=UTF-8''alps-1.mbtiles")
    }
  }

  @Test func postingAgainRecordsNothingTwice() async throws {
    try await TestStore.run { store in
      let person = try store.person()
      let evidence = try store.evidence("alps", for: person)
      let first = try await store.post([evidence, evidence], as: person)
      #expect(first.map(\.outcome).sorted { $0.rawValue < $1.rawValue } == [.alreadyOwned, .booked], "\(first)")
      let again = try await store.post([evidence], as: person, isRestore: true)
      #expect(again[0].outcome == .alreadyOwned && again[0].shouldFinish)
      // A copy of the same grant under another id, as of a restore.
      let copy = try store.evidence("alps", for: person) { $0.originalTransactionID = first[0].items[0].transactionId }
      #expect(try await store.post([copy], as: person)[0].outcome == .booked)
      #expect(try await store.library(of: person)["alps"]?.status == .ownedNotInstalled)
    }
  }

  /// Case 14: a sandbox purchase sent to production is recorded, grants nothing, and the app may finish it.
  @Test func case14SandboxIsRecordedWithoutGrant() async throws {
    try await TestStore.run { store in
      let person = try store.person()
      let result = try await store.post([try store.evidence("alps", for: person, environment: .sandbox)], as: person)[0]
      #expect(result.outcome == .booked && result.shouldFinish, "\(result)")
      #expect(result.environment == "sandbox" && result.reason == "sandbox" && result.items[0].entitlement == .withheld)
      #expect(try await store.library(of: person)["alps"]?.status == .forSale)
      let answer = try await store.send(
        "POST", StoreRoute.downloads.path, token: person.token, DownloadRequest(regionId: "alps", kind: .bundle))
      #expect(try answer.status == 403 && answer.problem().type == .notOwned)
    }
  }

  /// Case 42: another phone installs everything without a purchase.
  @Test func case42NewPhoneDownloadsWithoutStore() async throws {
    try await TestStore.run { store in
      let person = try await store.person(registering: "Anna@example.org")
      _ = try await store.post([try store.evidence("alps", for: person)], as: person)
      let credentials = try #require(person.credentials)
      let phone = TestStore.Person(session: try await store.signIn(credentials), credentials: credentials)
      #expect(phone.token != person.token)
      #expect(try await store.library(of: phone)["alps"]?.status == .ownedNotInstalled)
      let ticket = try await store.ticket("alps", as: phone)
      let whole = try store.catalog.bytes(ticket.file)
      #expect(try await store.send("GET", ticket.url).body == whole)
    }
  }

  /// Case 40: a retired product is downloaded by its owner and hidden from everybody else; the list is read again when
  /// it changes.
  @Test func case40RetiredProduct() async throws {
    let ready = TestCatalog.regions.map { "\(TestCatalog.product($0)),ready" }.joined(separator: "\n")
    try await TestStore.run(products: "# product,state\n\(ready)\n") { store in
      let owner = try store.person()
      let other = try store.person()
      _ = try await store.post([try store.evidence("retired", for: owner)], as: owner)
      try store.folder.write("products.csv", ready.replacingOccurrences(of: "retired,ready", with: "retired,removed"))
      let page = { (token: String?) in
        let answer = try await store.send("GET", StoreRoute.catalogue.path, token: token)
        return try WireJSON.decode(CatalogPage.self, from: answer.body).regions.map(\.id)
      }
      for _ in 0..<400 where try await page(nil).contains("retired") { try await Task.sleep(for: .milliseconds(50)) }
      #expect(try await page(nil) == ["alps", "rockies", "rhine"])
      #expect(try await store.library(of: other)["retired"] == nil)
      #expect(try await store.library(of: owner)["retired"]?.status == .ownedNotInstalled)
      #expect(try await store.library(of: owner)["retired"]?.isForSale == false)
      for path in ["", "/preview", "/packs"] {
        let target = "/v1/regions/retired\(path)"
        #expect(try await store.send("GET", target).status == 404)
        #expect(try await store.send("GET", target, token: other.token).status == 404)
        #expect(try await store.send("GET", target, token: owner.token).status == 200)
      }
      let refused = try await store.send(
        "POST", StoreRoute.downloads.path, token: other.token, DownloadRequest(regionId: "retired", kind: .bundle))
      #expect(refused.status == 404)
      let ticket = try await store.ticket("retired", as: owner)
      #expect(try await store.send("GET", ticket.url).body == store.catalog.bytes(ticket.file))
    }
  }

  @Test func statusesOfTheLibrary() async throws {
    try await TestStore.run { store in
      let person = try store.person()
      let evidence = try store.evidence("alps", for: person, id: "7")
      _ = try await store.post([evidence, try store.evidence("rockies", for: person)], as: person)
      #expect(try await store.library(of: person, installed: "alps@1")["alps"]?.status == .ownedInstalled)
      try store.catalog.write(edition: "2", patchesFrom: "1")
      var library = try await store.library(of: person, installed: "alps@1,rockies@0")
      for _ in 0..<400 where library["alps"]?.edition == "1" {
        try await Task.sleep(for: .milliseconds(50))
        library = try await store.library(of: person, installed: "alps@1,rockies@0")
      }
      let update = try #require(library["alps"])
      #expect(update.status == .updateAvailable && update.patchBytes == 3000 && update.installedEdition == "1")
      // Without a patch the whole bundle is fetched.
      #expect(library["rockies"]?.status == .updateAvailable && library["rockies"]?.patchBytes == nil)
      let revoked = try store.evidence("alps", for: person, id: "7") {
        $0.statement = .revoked
        $0.revocation = Revocation(date: TestStore.now - 1000, reason: "0")
        $0.signedDate = TestStore.now - 1000
      }
      _ = try await store.post([revoked], as: person)
      #expect(try await store.library(of: person)["alps"]?.status == .revoked)
    }
  }
}
