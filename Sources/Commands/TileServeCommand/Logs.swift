import CommandConfiguration
import CommandSupport
import LibC
import Logging
import Support
import Synchronization
import TileServe

/// The file of the access log.
final class AccessLogFile: Sendable {
  /// An open file. It is closed when the last write to it has ended.
  private final class Output: Sendable {
    let descriptor: Int32
    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { if descriptor != STDOUT_FILENO { close(descriptor) } }
  }

  private let path: String
  private let output: Mutex<Output>

  /// - Parameter path: a file, which is appended to, or `-` for standard output.
  init(_ path: String) throws {
    self.path = path
    guard let output = Self.open(path) else {
      throw ConfigurationError(
        option: "accessLog",
        "\(path) cannot be written: \(FileSystem.SystemError(number: errno)); check folder and permissions")
    }
    self.output = Mutex(output)
  }

  /// True for a file with a name, which another program may move away.
  var mayBeReopened: Bool { path != "-" }

  private static func open(_ path: String) -> Output? {
    let descriptor =
      path == "-" ? STDOUT_FILENO : LibC.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    return descriptor < 0 ? nil : Output(descriptor)
  }

  /// Opens the file by its name again, after it was moved away. Where that fails the lines go on to the old file.
  func reopen() {
    guard let new = Self.open(path) else {
      return printError(
        "tileserve: warning: \(path) cannot be opened again: \(FileSystem.SystemError(number: errno)); the old file is "
          + "written on")
    }
    output.withLock { $0 = new }
  }

  var log: AccessLog {
    AccessLog { [self] bytes in
      let output = output.withLock { $0 }
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(output.descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        // A log that cannot be written must not end the service.
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }
}

/// Messages on standard error, in the form of the other commands: `tileserve: warning: ...`.
struct ErrorLog: LogHandler {
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]

  init(level: Logger.Level) { logLevel = level }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    printError("tileserve: \(event.level == .info ? "" : "\(event.level): ")\(event.message)")
  }
}
