import Foundation
import TestSupport
import Testing

/// The built `tileserve` under way. It is killed when this goes.
struct RunningServer {
  let process: ChildProcess
  /// The port it chose.
  let port: Int

  /// Starts it on a port of its own and waits until it serves.
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

  /// None of the variables that who runs the tests may have.
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
