import Foundation

/// A program that tests run.
public struct Command: Sendable {
  /// The program's path.
  public let path: String

  public init(path: String) { self.path = path }

  /// A program on the search path; nil when it is not installed.
  public init?(installed name: String) {
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
    guard let path = folders.lazy.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
      return nil
    }
    self.path = path
  }

  /// A command of this package, built beside the tests. The environment variable of its name in capitals (`TILECUT`)
  /// names another one, such as a release build.
  public init(built name: String) throws {
    if let path = ProcessInfo.processInfo.environment[name.uppercased()], !path.isEmpty {
      self.path = path
      return
    }
    // The tests are an executable beside the commands, or in a bundle some folders below them.
    var folder = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
    var folders = [Bundle.main.bundleURL, Bundle.main.executableURL].compactMap { $0?.deletingLastPathComponent().path }
    for _ in 0..<5 {
      folder.deleteLastPathComponent()
      folders.append(folder.path)
    }
    guard let path = folders.lazy.map({ "\($0)/\(name)" }).first(where: FileManager.default.isExecutableFile) else {
      throw NotBuilt(name: name, folders: folders)
    }
    self.path = path
  }

  struct NotBuilt: Error, CustomStringConvertible {
    let name: String
    let folders: [String]
    var description: String { "\(name) was not built: it lies in none of \(folders.joined(separator: ", "))" }
  }

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - folder: the working folder; that of the tests when nil.
  ///   - environment: variables in addition to those of every run.
  ///   - descriptors: what the program inherits from descriptor 3 on.
  public func start(
    _ arguments: [String], in folder: String? = nil, environment: [String: String] = [:], descriptors: [Int32] = []
  ) throws -> ChildProcess {
    try ChildProcess(
      path: path, arguments: arguments, folder: folder, environment: environment, descriptors: descriptors)
  }

  /// Runs the program to its end.
  ///
  /// - Parameter timeout: seconds after which it is killed.
  public func run(
    _ arguments: [String], in folder: String? = nil, environment: [String: String] = [:], timeout: Double = 60
  ) throws -> CommandRun {
    try start(arguments, in: folder, environment: environment).wait(timeout: timeout)
  }
}
