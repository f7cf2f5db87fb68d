/// The result of a finished command.
public struct CommandRun: Sendable, CustomStringConvertible {
  /// How a process ended.
  public enum Ending: Hashable, Sendable {
    /// The process exited with this status.
    case status(Int32)
    /// This signal ended the process.
    case signal(Int32)
    /// The process ran too long and was killed.
    case timeout
  }

  /// Name and arguments.
  public let words: [String]
  public let ending: Ending
  public let stdout: String
  public let stderr: String
  /// Seconds from start to end.
  public let seconds: Double
  /// The highest resident memory (see ``ChildProcess/peakBytes``).
  public let peakBytes: Int

  /// The exit status; nil after a signal or timeout.
  public var status: Int32? {
    guard case .status(let status) = ending else { return nil }
    return status
  }

  public var stdoutLines: [Substring] { stdout.split(separator: "\n") }
  public var stderrLines: [Substring] { stderr.split(separator: "\n") }

  /// For comments of expectations: everything needed to see why one failed.
  public var description: String {
    "\(words.joined(separator: " ")) -> \(ending) after \(seconds) s, \(peakBytes / 1_000_000) MB\n"
      + "stdout: \(stdout.prefix(2000))\nstderr: \(stderr.prefix(2000))"
  }
}
