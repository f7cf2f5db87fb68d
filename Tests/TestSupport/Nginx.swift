import Foundation
import LibC

/// A real nginx on a port of this machine; ends with the object.
public final class Nginx {
  public let port: Int
  public var origin: String { "http://127.0.0.1:\(port)" }
  private let folder: TemporaryFolder
  private let process: ChildProcess

  private static let program = [
    "/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx", "/opt/homebrew/bin/nginx",
  ]
  .first(where: FileManager.default.isExecutableFile)
  public static var isInstalled: Bool { program != nil }

  /// - Parameters:
  ///   - directives: of the server, such as its locations.
  ///   - folder: for its configuration, its log and its temporary files.
  /// - Throws: ``NotServing``.
  public init(_ directives: String, in folder: TemporaryFolder) throws {
    guard let program = Self.program else { throw NotServing(description: "nginx is not installed") }
    self.folder = folder
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
        log_format plain '$request_method $uri $status $http_range';
        access_log \(folder.file("access.log")) plain;
        types { text/html html; text/css css; text/javascript js; }
        \(paths.joined(separator: " "))
        server {
          listen 127.0.0.1:\(port);
          \(directives)
        }
      }
      """)
    listener.close()
    process = try Command(path: program).start(["-e", "stderr", "-c", path])
    let port = port
    guard eventually(seconds: 30, { (try? Socket(port: port)) != nil }) else {
      throw NotServing(description: process.stderr)
    }
  }

  deinit {
    process.send(SIGTERM)
    _ = process.wait(timeout: 15) as CommandRun
  }

  /// Method, path, status and range of each request so far.
  public var requests: [String] {
    get throws {
      try String(decoding: folder.bytes("access.log"), as: UTF8.self).split(separator: "\n").map(String.init)
    }
  }

  public struct NotServing: Error, CustomStringConvertible { public let description: String }
}

/// A port that the system chose and that is free as long as this is open.
private final class FreePort {
  let port: Int
  private let descriptor: Int32

  init() throws {
    #if canImport(Glibc)
      let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    #else
      let descriptor = socket(AF_INET, SOCK_STREAM, 0)
    #endif
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
    guard code == 0 else { throw Nginx.NotServing(description: "there is no free port") }
    port = Int(in_port_t(bigEndian: address.sin_port))
  }

  func close() { LibC.close(descriptor) }
}
