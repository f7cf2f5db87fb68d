import CommandConfiguration
import CommandSupport
import LibC
import Logging
import Support
import TileServe

/// The file of the access log.
enum AccessLogFile {
  /// - Parameter path: a file, which is appended to, or `-` for standard output.
  static func open(_ path: String) throws -> AccessLog {
    let descriptor = path == "-" ? STDOUT_FILENO : openToAppend(path)
    guard descriptor >= 0 else {
      throw ConfigurationError(
        option: "accessLog",
        "\(path) cannot be written: \(FileSystem.SystemError(number: errno)); check folder and permissions")
    }
    return AccessLog { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        // A log that cannot be written must not end the service.
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }
}

private func openToAppend(_ path: String) -> Int32 { open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644) }

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
