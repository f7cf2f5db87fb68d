/// What a finished command has done.
public struct CommandRun: Sendable, CustomStringConvertible {
  /// How a process came to its end.
  public enum Ending: Hashable, Sendable {
    /// It ended itself, with this status.
    case status(Int32)
    /// This signal ended it.
    case signal(Int32)
    /// It ran too long and was killed.
    case timeout
  }

  /// Name and arguments.
  public let words: [String]
  public let ending: Ending
  public let stdout: String
  public let stderr: String
  /// From start to end.
  public let seconds: Double
  /// The most memory that was resident at one time (see ``ChildProcess/peakBytes``).
  public let peakBytes: Int

  /// The exit status, if it has one.
  public var status: Int32? {
    guard case .status(let status) = ending else { return nil }
    return status
  }

  public var stdoutLines: [Substring] { stdout.split(separator: "\n") }
  public var stderrLines: [Substring] { stderr.split(separator: "\n") }

  /// For the comment of an expectation: everything needed to see why it failed.
  public var description: String {
    "\(words.joined(separator: " ")) -> \(ending) after \(seconds) s, \(peakBytes / 1_000_000) MB\n"
      + "stdout: \(stdout.prefix(2000))\nstderr: \(stderr.prefix(2000))"
  }
}
