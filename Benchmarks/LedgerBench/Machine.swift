import Foundation

/// What the process has used.
enum Memory {
  /// User and system time of all threads, in seconds.
  static var processorSeconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static var peakMegabytes: Double { status("VmHWM") }
  static var residentMegabytes: Double { status("VmRSS") }

  /// 0 where /proc is missing.
  private static func status(_ name: String) -> Double {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
    return line?.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first.flatMap { Double($0) }
      .map { $0 / 1024 } ?? 0
  }
}

/// The peer: `openssl speed`.
enum OpenSSL {
  /// P-256 verifications a second on one core; nil when there is no openssl.
  static func verifiesPerSecond() -> Double? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["openssl", "speed", "-seconds", "3", "ecdsap256"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    // Its clock is a signal, which Swift's threads keep from reaching them and all that they start.
    var all = sigset_t()
    var mine = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_UNBLOCK, &all, &mine)
    let hasStarted: Void? = try? process.run()
    pthread_sigmask(SIG_SETMASK, &mine, nil)
    guard hasStarted != nil else { return nil }
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    guard let line = text.split(separator: "\n").last(where: { $0.contains("nistp256") }) else {
      print("openssl is missing: its figure is left out")
      return nil
    }
    return line.split(separator: " ").last.flatMap { Double($0) }
  }
}
