import Foundation

/// A folder of a test's own that goes with the object.
final class TemporaryFolder {
  let path: String

  init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("TileIndexTests-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
  }

  deinit {
    // Tests may have taken the right to write away.
    try? FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    try? FileManager.default.removeItem(atPath: path)
  }

  func file(_ name: String) -> String { "\(path)/\(name)" }
  func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: file(name))) }
  var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted() }
}

/// A program's exit code and output; nil when it is not installed.
func run(_ program: String, _ arguments: [String]) throws -> (status: Int32, output: String)? {
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

/// Bytes that begin as an image of the format does, then go on as the seed says.
func blob(_ seed: UInt8, count: Int = 100) -> [UInt8] {
  [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] + (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) &+ seed }
}
