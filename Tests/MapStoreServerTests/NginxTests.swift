import Foundation
import MapStoreWire
import PurchaseLedger
import TestSupport
import Testing

@testable import MapStoreServer

/// The service behind a real nginx, which sends the files (X-Accel-Redirect).
@Suite(
  .ownThread,
  .enabled(
    if: Nginx.isInstalled, "nginx is not installed (apt-get install nginx-light): X-Accel-Redirect is not tried with it"
  ))
struct NginxTests {
  @Test func nginxSendsTheFiles() async throws {
    try await TestStore.run {
      $0.accelPrefix = "/catalogue/"
      $0.trustedProxies = ["127.0.0.1"]
    } _: { store in
      let anna = try store.person()
      _ = try await store.post([try store.evidence("alps", for: anna)], as: anna)
      let link = try await store.ticket("alps", as: anna)
      let whole = try store.catalog.bytes(link.file)
      try await onThread {
        let folder = try TemporaryFolder()
        // As the documentation configures it.
        let nginx = try Nginx(
          """
          location / { proxy_pass http://127.0.0.1:\(store.server.port); \
          proxy_set_header X-Forwarded-For $remote_addr; }
          location /catalogue/ { internal; alias \(store.catalog.path)/; }
          """, in: folder)
        func get(_ target: String, _ fields: [String: String] = [:]) throws -> HTTPResponse {
          try HTTPConnection(port: nginx.port).request(target, fields)
        }
        let answer = try get(link.url)
        #expect(answer.status == 200 && answer.body == whole, "\(answer)")
        #expect(answer["Content-Disposition"]?.contains("alps-1.mbtiles") == true)
        #expect(answer["X-Accel-Redirect"] == nil)
        let part = try get(link.url, ["Range": "bytes=1000-1999"])
        #expect(part.status == 206 && part.body == Array(whole[1000..<2000]), "\(part)")
        // A device resumes with its tag, whether nginx or the service sent it.
        let rest = try get(link.url, ["Range": "bytes=2000-", "If-Range": answer["ETag"] ?? ""])
        #expect(rest.status == 206 && rest.body == Array(whole[2000...]), "\(rest)")
        // Each counts as a whole file of the link's three, because the bytes that nginx sends are unknown.
        #expect(try get(link.url).status == 403)
        // The files can be reached through the service only.
        #expect(try get("/catalogue/\(link.file)").status == 404)
        #expect(try get(link.url.replacing("&s=", with: "&s=0")).status == 403)
        #expect(try get(link.url.replacing("alps-1.mbtiles", with: "..%2fcatalogue.json")).status == 403)
        #expect(try get("/catalogue").status == 200)
      }
    }
  }
}
