import CSQLite
import Crypto
import Foundation
import MapStoreWire
import PurchaseLedger
import RegionCatalog
import Support
import TestSupport
import Testing
import TileIndex

@testable import MapStoreServer

/// Download links.
@Suite(.ownThread) struct DownloadTests {
  /// Case 45: a link that has expired, is altered in any part, is another account's, of a refunded region, or used up:
  /// 403.
  @Test func case45LinksThatDoNotCount() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      let bert = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna, id: "7")], as: anna)
      _ = try await store.post([try store.evidence("rhine", for: bert)], as: bert)
      func expectRefused(_ url: String, token: String? = nil, _ why: Comment) async throws {
        for method in ["GET", "HEAD"] {
          let answer = try await store.send(method, url, token: token)
          #expect(answer.status == 403, why)
          if method == "GET" { #expect(try answer.problem().type == .linkRefused, why) }
        }
      }
      let ticket = try await store.ticket("alps", as: anna)
      let url = ticket.url
      try await expectRefused(url.replacingOccurrences(of: "alps-1.mbtiles", with: "rhine-1.mbtiles"), "another file")
      try await expectRefused(url.replacingOccurrences(of: "r=alps", with: "r=rhine"), "another region")
      try await expectRefused(
        url.replacingOccurrences(of: anna.session.account.id, with: bert.session.account.id), "another account")
      try await expectRefused(url.replacingOccurrences(of: "&e=", with: "&e=9"), "a longer life")
      try await expectRefused(url.replacingOccurrences(of: "&n=", with: "&n=x"), "another nonce")
      try await expectRefused(url.replacingOccurrences(of: "&k=", with: "&k=0"), "another key")
      try await expectRefused(String(url.dropLast()), "a shorter signature")
      try await expectRefused(StoreRoute.file.path("alps-1.mbtiles"), "no signature")
      try await expectRefused(url, token: bert.token, "another's session")

      #expect(try await store.send("GET", url, token: anna.token).status == 200)
      for _ in 0..<400 where try await store.send("HEAD", url).status == 200 {
        try await Task.sleep(for: .milliseconds(25))
      }
      try await expectRefused(url, "replayed after the file was fetched")

      let old = try await store.ticket("alps", as: anna).url
      store.wait(milliseconds: 900_000)
      try await expectRefused(old, "expired")

      let live = try await store.ticket("alps", as: anna).url
      #expect(try await store.send("HEAD", live).status == 200)
      let refund = try store.evidence("alps", for: anna, id: "7") {
        $0.statement = .revoked
        $0.revocation = Revocation(date: TestStore.now, reason: "0")
        $0.signedDate = TestStore.now
      }
      _ = try await store.post([refund], as: anna)
      try await expectRefused(live, "refunded meanwhile")
      let audits = try store.audits()
      #expect(audits.contains { $0.contains("granted") } && audits.contains { $0.contains("link-refused") })
      #expect(!audits.contains { $0.contains("anna") || $0.contains("127.0.0.1") })
    }
  }

  @Test func rangesAndConditions() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let ticket = try await store.ticket("alps", as: anna)
      let whole = try store.catalog.bytes(ticket.file)
      let tag = "\"\(ticket.sha256)\""
      let head = try await store.send("HEAD", ticket.url)
      #expect(head.status == 200 && head["Content-Length"] == "\(whole.count)" && head["Accept-Ranges"] == "bytes")
      #expect(head["ETag"] == tag)
      // Ranges apply to GET only: HEAD describes the whole file.
      let ranged = try await store.send("HEAD", ticket.url, ["Range": "bytes=0-9"])
      #expect(ranged.status == 200 && ranged["Content-Length"] == "\(whole.count)" && ranged["Content-Range"] == nil)
      for (field, status) in [("\"x\", \(tag)", 206), ("*", 206), ("\"x\"", 412), ("W/\(tag)", 412)] {
        let answer = try await store.send("GET", ticket.url, ["If-Match": field, "Range": "BYTES=0-9"])
        #expect(answer.status == status, "\(field): \(answer.status)")
        if status == 412 { #expect(try answer.problem().type == .preconditionFailed) }
      }
      let known = try await store.send("GET", ticket.url, ["If-None-Match": tag])
      #expect(known.status == 304 && known["Content-Length"] == nil)
      for (range, part) in [
        ("bytes=5-5", 5..<6), ("bytes=-7", whole.count - 7..<whole.count),
        ("bytes=\(whole.count - 1)-99999999999999999999", whole.count - 1..<whole.count),
      ] {
        let url = try await store.ticket("alps", as: anna).url
        let answer = try await store.send("GET", url, ["Range": range])
        #expect(answer.status == 206 && answer.body == Array(whole[part]), "\(range) \(answer)")
      }
      let beyond = try await store.send("GET", ticket.url, ["Range": "bytes=\(whole.count)-"])
      #expect(beyond.status == 416 && beyond["Content-Range"] == "bytes */\(whole.count)")
      // If the file has changed, a range request gets the whole file.
      let changed = try await store.send("GET", ticket.url, ["Range": "bytes=5-5", "If-Range": "\"0000\""])
      #expect(changed.status == 200 && changed.body == whole)
    }
  }

  /// Each request that nginx serves counts as the whole file, and only files as the catalogue describes them are
  /// served.
  @Test func linksBeforeNginxAreUsedUp() async throws {
    try await TestStore.run {
      $0.accelPrefix = "/catalogue/"
    } _: { store in
      let anna = try store.person()
      let bought = [try store.evidence("alps", for: anna), try store.evidence("rhine", for: anna)]
      _ = try await store.post(bought, as: anna)
      let url = try await store.ticket("alps", as: anna).url
      #expect(try await store.send("HEAD", url)["X-Accel-Redirect"] == "/catalogue/alps-1.mbtiles")
      for range in ["bytes=0-9", "bytes=10-", "bytes=5-"] {
        let answer = try await store.send("GET", url, ["Range": range])
        #expect(answer.status == 200 && answer["X-Accel-Redirect"] == "/catalogue/alps-1.mbtiles", "\(answer)")
      }
      let refused = try await store.send("GET", url)
      #expect(try refused.status == 403 && refused.problem().type == .linkRefused, "\(refused)")
      #expect(refused["X-Accel-Redirect"] == nil)
      let next = try await store.ticket("alps", as: anna).url
      #expect(try await store.send("GET", next).status == 200)
      // Another file of the same size.
      let link = try await store.ticket("rhine", as: anna)
      let path = "\(store.catalog.path)/\(link.file)"
      try Data(count: link.bytes).write(to: URL(fileURLWithPath: path))
      let files = store.server.service.catalog.files
      let isFound = try await onThread { eventually(seconds: 60) { files.fault(of: link.file) == .otherHash } }
      #expect(isFound)
      #expect(try await store.send("GET", link.url).status == 503)
      try Data(count: 1000).write(to: URL(fileURLWithPath: path))
      #expect(try await store.send("GET", link.url).status == 503)
    }
  }

  @Test func editionsPacksAndPatches() async throws {
    try await TestStore.run { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let begun = try await store.ticket("alps", as: anna)
      try store.catalog.write(edition: "2", patchesFrom: "1")
      for _ in 0..<400 {
        let answer = try await store.send("GET", "/v1/regions/alps")
        if try WireJSON.decode(RegionDetails.self, from: answer.body).region.edition == "2" { break }
        try await Task.sleep(for: .milliseconds(50))
      }
      let gone = try await store.send("GET", begun.url)
      #expect(try gone.status == 409 && gone.problem().type == .editionGone)
      func download(_ request: DownloadRequest) async throws -> HTTPResponse {
        try await store.send("POST", StoreRoute.downloads.path, token: anna.token, request)
      }
      #expect(try await download(DownloadRequest(regionId: "alps", kind: .bundle, edition: "1")).status == 409)
      #expect(try await download(DownloadRequest(regionId: "alps", kind: .patch, fromEdition: "0")).status == 409)
      for request in [
        DownloadRequest(regionId: "alps", kind: .patch, edition: "2", fromEdition: "1"),
        DownloadRequest(regionId: "alps", kind: .pack, file: "alps-2-overview.mbtiles"),
      ] {
        let ticket = try WireJSON.decode(DownloadTicket.self, from: try await download(request).body)
        #expect(try await store.send("GET", ticket.url).body == store.catalog.bytes(ticket.file))
      }
    }
  }

  /// Transfers beyond the account's limit are told to wait until others end.
  @Test func transfersAreCounted() async throws {
    try await TestStore.run(alpsBytes: 16_000_000) {
      $0.limits.transfersByAccount = 1
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let slow = try await store.ticket("alps", as: anna).url
      let other = try await store.ticket("alps", as: anna).url
      let port = store.server.port
      // A client that reads nothing: the answer does not fit into its buffer.
      let socket = try Socket(port: port, receiveBytes: 4096)
      try socket.send("GET \(slow) HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-15000000\r\n\r\n")
      _ = try await onThread { () in Thread.sleep(forTimeInterval: 0.05) }
      var refused = try await store.send("GET", other, ["Range": "bytes=0-9"])
      for _ in 0..<400 where refused.status != 429 {
        try await Task.sleep(for: .milliseconds(25))
        refused = try await store.send("GET", other, ["Range": "bytes=0-9"])
      }
      #expect(try refused.status == 429 && refused.problem().type == .tooMany && refused["Retry-After"] == "2")
      socket.close()
      var answer = refused
      for _ in 0..<400 where answer.status == 429 {
        try await Task.sleep(for: .milliseconds(25))
        answer = try await store.send("GET", other, ["Range": "bytes=0-9"])
      }
      #expect(answer.status == 206)
    }
  }

  /// A transfer ends with its last byte. That it was sent is noted later: the ledger is locked.
  @Test func aTransferEndsWithItsLastByte() async throws {
    try await TestStore.run {
      $0.limits.transfersByAccount = 1
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let links = [try await store.ticket("alps", as: anna).url, try await store.ticket("alps", as: anna).url]
      let other = try SQLiteConnection(
        uri: SQLiteConnection.uri(path: store.ledger.path, parameters: []), flags: SQLITE_OPEN_READWRITE)
      try other.execute("BEGIN IMMEDIATE")
      let transfers = store.server.service.transfers
      #expect(try await store.send("GET", links[0]).status == 200)
      #expect(try await onThread { eventually(seconds: 15) { transfers.total == 0 } })
      #expect(try await store.send("GET", links[1], ["Range": "bytes=0-9"]).status == 206)
      try other.execute("ROLLBACK")
    }
  }

  /// If a bundle is truncated while it is sent, the response ends; the client does not wait for missing bytes.
  @Test func aFileThatBecomesShorter() async throws {
    try await TestStore.run(alpsBytes: 16_000_000) { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let link = try await store.ticket("alps", as: anna)
      let (port, path) = (store.server.port, "\(store.catalog.path)/\(link.file)")
      let received = try await onThread {
        let socket = try Socket(port: port, receiveBytes: 4096)
        try socket.send("GET \(link.url) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        var count = try socket.receive().count
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.truncate(atOffset: 1000)
        while let more = try? socket.receive(), !more.isEmpty { count += more.count }
        return count
      }
      #expect(received < 16_000_000)
      #expect(try await store.send("GET", StoreRoute.health.path).status == 200)
      let later = try await store.send("GET", try await store.ticket("alps", as: anna).url)
      #expect(try later.status == 503 && later.problem().type == .unavailable)
    }
  }

  @Test func linkKeysRotate() throws {
    let old = HMACKeys(secrets: [.init(size: .bits256)])
    let link = DownloadLink(
      file: "a b.mbtiles", sha256Start: "0123", account: AccountID(UUID()), region: "x&y", generation: 3,
      expiresAt: 5, nonce: "n")
    let parts = link.path(signedWith: old).split(separator: "?")
    #expect(parts[0] == "/v1/files/a%20b.mbtiles")
    let query = try Query(String(parts[1]))
    #expect(try DownloadLink(file: "a b.mbtiles", query: query, keys: old) == link)
    let other = HMACKeys(secrets: [.init(size: .bits256)])
    #expect(throws: Problem.self) { try DownloadLink(file: "a b.mbtiles", query: query, keys: other) }
  }

  /// nginx sends the file.
  @Test func accelRedirect() async throws {
    try await TestStore.run {
      $0.accelPrefix = "/internal/"
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let answer = try await store.send("GET", try await store.ticket("alps", as: anna).url)
      #expect(answer.status == 200 && answer.body.isEmpty && answer["X-Accel-Redirect"] == "/internal/alps-1.mbtiles")
    }
  }
}
