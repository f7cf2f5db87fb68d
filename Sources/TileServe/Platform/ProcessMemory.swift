/// What the kernel says of this process (proc(5), `/proc/self/status`); nothing on systems without it.
enum ProcessMemory {
  /// Anonymous memory that is resident, in bytes: what the process holds itself, without files and shared pages.
  static var anonymousBytes: Int? { value("RssAnon:") }
  /// All resident memory, in bytes.
  static var residentBytes: Int? { value("VmRSS:") }

  private static func value(_ name: String) -> Int? {
    guard let text = try? FileBytes.read("/proc/self/status", countMax: 65_536) else { return nil }
    for line in text.split(separator: UInt8(ascii: "\n")) where line.starts(with: name.utf8) {
      let number = line.filter { $0 &- UInt8(ascii: "0") < 10 }
      return Int(String(decoding: number, as: UTF8.self)).map { $0 * 1024 }
    }
    return nil
  }
}
