import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
  // Foundation opens no URL of the web without it.
  import FoundationNetworking
#endif

/// The built `tileserve` at work on a port of its own; ends with the object.
final class RunningServer {
  /// Scheme, host and port, without a slash at the end.
  let origin: String
  /// What it says it is reached at, without a slash at the end: the origin and the base path.
  let address: String
  private let process: ChildProcess

  init(_ paths: [String], _ options: [String] = [], command: Command? = nil) throws {
    let command = try command ?? Command(built: "tileserve")
    let process = try command.start(paths + ["--port", "0"] + options)
    let isUp = process.wait { process.stdout.contains("viewer: ") }
    let line = process.stdout.split(separator: "\n").first { $0.hasPrefix("viewer: ") }
    let url = try #require(isUp ? line?.dropFirst(8) : nil, "\(process.stdout)\(process.stderr)")
    address = String(url.dropLast())
    origin = "http://" + url.dropFirst(7).prefix { $0 != "/" }
    self.process = process
  }

  deinit {
    process.send(SIGTERM)
    _ = process.wait(timeout: 15)
  }

  /// The body of a GET.
  func get(_ path: String) throws -> String { try String(contentsOf: URL(string: address + path)!, encoding: .utf8) }
}

/// A path segment as URLs have it: all but the unreserved characters of RFC 3986 encoded.
func segment(_ id: String) -> String {
  let plain = CharacterSet(charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~,")
  return id.addingPercentEncoding(withAllowedCharacters: plain)!
}
