import Foundation

/// Runs a program of the system and waits for it.
///
/// - Returns: its exit code and everything it printed; nil when it is not installed.
public func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String)? {
  let paths = ["/usr/bin", "/usr/local/bin", "/bin", "/opt/homebrew/bin", "/sbin", "/usr/sbin"]
  guard let path = paths.map({ "\($0)/\(program)" }).first(where: FileManager.default.isExecutableFile(atPath:)) else {
    return nil
  }
  let process = Process()
  process.executableURL = URL(fileURLWithPath: path)
  process.arguments = arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  process.standardError = pipe
  try process.run()
  let data = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  return (process.terminationStatus, String(decoding: data, as: UTF8.self))
}
