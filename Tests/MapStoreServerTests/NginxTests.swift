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
    if: NginxProgram.path != nil,
    "nginx is not installed (apt-get install nginx-light): X-Accel-Redirect is not tried with it"))
struct NginxTests {
  /// nginx as the documentation configures it, before a store; ends with the object.
  private final class Nginx {
    let process: ChildProcess
    let port: Int

    init(before store: TestStore, in folder: TemporaryFolder) throws {
      // The system's choice of a free port, asked for and given back.
      let listener = try FreePort()
      port = listener.port
      let user = getuid() == 0 ? "user root;" : ""
      let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder.file($0));" }
      let path = try folder.write(
        "nginx.conf",
        """
        daemon off; master_process off; pid \(folder.file("nginx.pid")); error_log stderr; \(user)
        events { worker_connections 64; }
        http {
          access_log off; \(paths.joined(separator: " "))
          server {
            listen 127.0.0.1:\(port);
            location / { proxy_pass http://127.0.0.1:\(store.server.port); proxy_set_header X-Forwarded-For \
            $remote_addr; }
            location /catalogue/ { internal; alias \(store.catalog.path)/; }
          }
        }
        """)
      listener.close()
      process = try Command(path: NginxProgram.path!).start(["-e", "stderr", "-c", path])
      let port = port
      guard eventually(seconds: 30, { (try? Socket(port: port)) != nil }) else {
        throw ServerProcess.NotServing(text: process.stderr)
      }
    }

    deinit {
      process.send(SIGTERM)
      _ = process.wait(timeout: 15) as CommandRun
    }
  }

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
        let nginx = try Nginx(before: store, in: folder)
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

private enum NginxProgram {
  static let path = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx", "/opt/homebrew/bin/nginx"]
    .first(where: FileManager.default.isExecutableFile)
}

/// A port of this machine that is free as long as this is open.
private final class FreePort {
  let port: Int
  private let descriptor: Int32

  init() throws {
    let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let code = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 ? getsockname(descriptor, $0, &size) : -1
      }
    }
    guard code == 0 else { throw ServerProcess.NotServing(text: "there is no free port") }
    port = Int(in_port_t(bigEndian: address.sin_port))
  }

  func close() { Glibc.close(descriptor) }
}
