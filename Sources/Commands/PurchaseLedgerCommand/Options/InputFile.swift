import Foundation
import PurchaseLedger

/// Files that options name, and `-`.
enum InputFile {
  private static let bytesMax = 64 << 20

  /// - Throws: `LedgerError` with code `input`.
  static func read(_ path: String) throws(LedgerError) -> [UInt8] {
    do {
      let handle = path == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      // What is longer than any cap may be is refused for its length, not read to its end.
      var bytes = Data()
      while bytes.count <= bytesMax, let more = try handle.read(upToCount: 1 << 20), !more.isEmpty { bytes += more }
      return UTF8Mark.removed(from: Array(bytes))
    } catch {
      throw LedgerError(.input, at: path, "cannot be read; check the name and permissions")
    }
  }

  /// The first line without what ends it, LF or CR LF; lines behind it mean nothing.
  ///
  /// - Throws: `LedgerError` with code `input`, also where the line is empty.
  static func password(_ path: String) throws(LedgerError) -> String {
    let line = try read(path).prefix { $0 != 0x0a }
    let password = String(decoding: line.last == 0x0d ? line.dropLast() : line, as: UTF8.self)
    guard !password.isEmpty else {
      throw LedgerError(.input, at: path, "holds no password; write one into its first line")
    }
    return password
  }

  /// DER out of DER, PEM or bare base64.
  static func der(_ path: String) throws(LedgerError) -> [UInt8] {
    guard let der = DERText.decode(try read(path)) else {
      throw LedgerError(.configuration, at: path, "is neither DER nor PEM; give the file as the store handed it out")
    }
    return der
  }
}
