import Foundation
import LibC

/// A running program. Its output goes into files, so that it never waits for a reader and can be read while it runs.
///
/// Not Foundation's `Process`, which does not report the child's memory.
public final class ChildProcess {
  private let words: [String]
  private let process: pid_t
  private let start = ContinuousClock.now
  private let output: TemporaryFolder
  private var ending: CommandRun.Ending?
  /// The highest resident memory, in bytes.
  ///
  /// On Linux the kernel's figure for an ended child includes its parent's memory at the start. Where it is clearly
  /// larger than that (the kernel's counters are approximate) it is the child's. Otherwise it is the high-water mark in
  /// /proc, read every few milliseconds.
  public private(set) var peakBytes = 0
  private let parentPeakBytes: Int

  public var processID: Int { Int(process) }

  /// - Parameter descriptors: our numbers, 10 or more, of what the process inherits from descriptor 3 on.
  init(
    path: String, arguments: [String], folder: String?, environment: [String: String], descriptors: [Int32] = []
  ) throws {
    words = [path.split(separator: "/").last.map(String.init) ?? path] + arguments
    output = try TemporaryFolder()
    var variables = ProcessInfo.processInfo.environment
    // Variables of terminal and locale that would change the output.
    variables.merge(["COLUMNS": "80", "LC_ALL": "C"].merging(environment) { $1 }) { $1 }
    // The shell changes folders and is then replaced by the program, under the same process id.
    let line = folder.map { ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", $0] } ?? []
    process = try Self.spawn(
      line + [path] + arguments, variables.map { "\($0)=\($1)" }, stdout: output.file("stdout"),
      stderr: output.file("stderr"), descriptors: descriptors)
    // After the start: other tests may have taken memory meanwhile.
    parentPeakBytes = Self.peak(ofProcess: "self") ?? .max
  }

  deinit {
    guard ending == nil else { return }
    kill(process, SIGKILL)
    waitpid(process, nil, 0)
  }

  /// Standard output so far.
  public var stdout: String { text("stdout") }
  /// Standard error so far.
  public var stderr: String { text("stderr") }

  public func send(_ signal: Int32) { kill(process, signal) }

  /// Waits until a condition is true; false when the process ended or `timeout` seconds passed before.
  public func wait(timeout: Double = 20, until condition: () throws -> Bool) rethrows -> Bool {
    let deadline = ContinuousClock.now + .seconds(timeout)
    while ContinuousClock.now < deadline {
      if try condition() { return true }
      if collect() { return try condition() }
      usleep(2000)
    }
    return false
  }

  /// Waits for the end; kills the process after `timeout` seconds.
  public func wait(timeout: Double = 60) -> CommandRun {
    let deadline = ContinuousClock.now + .seconds(timeout)
    while !collect() {
      if ContinuousClock.now > deadline {
        kill(process, SIGKILL)
        waitpid(process, nil, 0)
        ending = .timeout
        break
      }
      usleep(2000)
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    return CommandRun(
      words: words, ending: ending!, stdout: stdout, stderr: stderr, seconds: seconds, peakBytes: peakBytes)
  }

  /// Checks whether the process has ended.
  private func collect() -> Bool {
    if ending != nil { return true }
    if let peak = Self.peak(ofProcess: "\(process)") { peakBytes = max(peakBytes, peak) }
    var status: Int32 = 0
    var usage = rusage()
    guard wait4(process, &status, WNOHANG, &usage) == process else { return false }
    #if canImport(Darwin)
      peakBytes = usage.ru_maxrss
    #else
      let peak = usage.ru_maxrss * 1024
      if peak > parentPeakBytes, peak - parentPeakBytes > 16 << 20 { peakBytes = peak }
    #endif
    ending = status & 0x7f == 0 ? .status((status >> 8) & 0xff) : .signal(status & 0x7f)
    return true
  }

  private func text(_ name: String) -> String {
    String(decoding: FileManager.default.contents(atPath: output.file(name)) ?? Data(), as: UTF8.self)
  }

  /// The high-water mark of a process's resident memory, in bytes.
  private static func peak(ofProcess id: String) -> Int? {
    guard let status = try? String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8),
      let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let kilobytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap({ Int($0) })
    else { return nil }
    return kilobytes * 1024
  }

  private static func spawn(
    _ arguments: [String], _ environment: [String], stdout: String, stderr: String, descriptors: [Int32]
  ) throws -> pid_t {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    for (descriptor, file) in [(STDOUT_FILENO, stdout), (STDERR_FILENO, stderr)] {
      posix_spawn_file_actions_addopen(&actions, descriptor, file, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    }
    for (number, descriptor) in descriptors.enumerated() {
      posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(3 + number))
    }

    // The caller of the tests may ignore signals, which children inherit; a command on a terminal does not.
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    posix_spawnattr_setsigmask(&attributes, &signals)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&signals, signal) }
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))

    var argv = arguments.map { SystemPath.withPointer($0) { strdup($0) } } + [nil]
    var envp = environment.map { strdup($0) } + [nil]
    defer { for pointer in argv + envp { free(pointer) } }
    var process: pid_t = 0
    let code = posix_spawn(&process, arguments[0], &actions, &attributes, &argv, &envp)
    guard code == 0 else { throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EINVAL) }
    return process
  }
}
