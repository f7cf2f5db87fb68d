import Foundation
import TestSupport
import Testing

/// A running `tileserve` of this build. It is killed when the object is released.
struct RunningServer {
  let process: ChildProcess
  /// The port that the server chose.
  let port: Int

  /// Starts the server on a free port and waits until it serves.
  init(_ arguments: [String], environment: [String: String] = [:], in folder: String? = nil) throws {
    process = try Command(built: "tileserve").start(
      arguments + ["--port", "0"], in: folder, environment: Self.environment.merging(environment) { $1 })
    let output = process
    let came = output.wait(timeout: 60) { output.stdout.contains("viewer: ") && output.stdout.hasSuffix("\n") }
    guard came, let match = output.stdout.firstMatch(of: /viewer: https?:\/\/[^\n]*:(\d+)\//),
      let port = Int(match.output.1)
    else { throw NotServing(text: "stdout: \(output.stdout)\nstderr: \(output.stderr)") }
    self.port = port
  }

  struct NotServing: Error { let text: String }

  /// Without variables of the caller's environment.
  static let environment: [String: String] = {
    let names = ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("TILESERVE_") }
    return Dictionary(uniqueKeysWithValues: names.map { ($0, "") })
  }()

  func connect() throws -> HTTPConnection { try HTTPConnection(port: port) }

  func get(_ target: String, _ fields: [String: String] = [:]) throws -> HTTPResponse {
    try connect().request(target, fields)
  }
}

/// Runs the built `tileserve` to its end.
func tileserve(_ arguments: String..., environment: [String: String] = [:], timeout: Double = 30) throws -> CommandRun {
  try Command(built: "tileserve").run(arguments, environment: environment, timeout: timeout)
}
