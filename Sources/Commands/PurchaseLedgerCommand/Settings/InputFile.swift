import CommandSupport
import LibC
import PurchaseLedger
import Support

/// Files that options name, and `-`.
enum InputFile {
  private static let bytesMax = 64 << 20

  /// - Throws: `LedgerError` with code `input`.
  static func read(_ path: String) throws(LedgerError) -> [UInt8] {
    do throws(FileSystem.SystemError) {
      let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { throw FileSystem.SystemError(number: errno) }
      defer { if path != "-" { close(descriptor) } }
      // A larger file is beyond any size cap and is refused for its length later: it need not be read to its end.
      var bytes: [UInt8] = []
      while bytes.count <= bytesMax {
        let more = try FileSystem.read(descriptor, count: 1 << 20)
        if more.isEmpty { break }
        bytes += more
      }
      return UTF8Mark.removed(from: bytes)
    } catch {
      if error.number == EISDIR { throw LedgerError(.input, at: path, "is a folder", remedy: "name a file in it") }
      throw LedgerError(.input, at: path, "cannot be read: \(error)", remedy: "check the name and permissions")
    }
  }

  /// The first line without its end, LF or CR LF; further lines are ignored. A terminal is asked for the login's
  /// password, and does not show it.
  ///
  /// - Throws: `LedgerError` with code `input`, also where the line is empty.
  static func password(_ path: String, login: String) throws(LedgerError) -> String {
    let password: String
    if path == "-", PasswordPrompt.isPossible {
      password = PasswordPrompt.line(login: login) ?? ""
    } else {
      let line = try read(path).prefix { $0 != 0x0a }
      password = String(decoding: line.last == 0x0d ? line.dropLast() : line, as: UTF8.self)
    }
    guard !password.isEmpty else {
      let place = path == "-" ? "standard input" : path
      throw LedgerError(.input, at: place, "holds no password", remedy: "write one into its first line")
    }
    return password
  }

  /// DER out of DER, PEM or bare base64.
  static func der(_ path: String) throws(LedgerError) -> [UInt8] {
    guard let der = DERText.decode(try read(path)) else {
      throw LedgerError(
        .configuration, at: path, "is neither DER nor PEM", remedy: "give the file as the store publishes it")
    }
    return der
  }
}

/// Times on the command line and in the file.
enum TimeArgument {
  /// Milliseconds since 1970, from digits or RFC 3339 (`2026-11-21T15:00:00Z`, `2026-11-21`).
  static func milliseconds(_ text: String, option: String) throws -> Int64 {
    let remedy = "give milliseconds since 1970 or 2026-11-21T15:00:00Z"
    if let number = Int64(text) {
      // From 1973, and to 9999: smaller numbers are seconds, greater ones microseconds.
      guard (100_000_000_000...253_402_300_799_999).contains(number) else {
        throw LedgerError(.configuration, at: option, "\(text) is no time in milliseconds since 1970", remedy: remedy)
      }
      return number
    }
    let isDay = text.utf8.count == 10
    guard let time = RFC3339.milliseconds(isDay ? text + "T00:00:00Z" : text) else {
      throw LedgerError(.configuration, at: option, "\"\(text)\" is no time", remedy: remedy)
    }
    return time
  }
}
