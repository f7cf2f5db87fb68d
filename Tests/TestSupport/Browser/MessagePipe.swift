import Foundation
import LibC

/// Two pipes to a process, for messages that end with a zero byte.
final class MessagePipe {
  /// The process's ends: it reads from one and writes to the other.
  let theirs: [Int32]
  private let input: Int32
  private let output: Int32
  private var pending: [UInt8] = []

  /// - Throws: `POSIXError` when there are no descriptors left.
  init() throws {
    func pair() throws -> (read: Int32, write: Int32) {
      var ends: [Int32] = [0, 0]
      guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
      defer { for end in ends { close(end) } }
      // High numbers, so that they do not collide with those that the process gets; not inherited by other processes.
      return (fcntl(ends[0], F_DUPFD_CLOEXEC, 20), fcntl(ends[1], F_DUPFD_CLOEXEC, 20))
    }
    let (toProcess, fromProcess) = (try pair(), try pair())
    theirs = [toProcess.read, fromProcess.write]
    input = fromProcess.read
    output = toProcess.write
    // An ended process gives an error, not a signal.
    signal(SIGPIPE, SIG_IGN)
  }

  deinit {
    close(input)
    close(output)
  }

  /// To be called when the process has inherited its ends.
  func closeTheirs() { for end in theirs { close(end) } }

  /// - Throws: `POSIXError` when the process has ended.
  func send(_ message: Data) throws {
    var rest = Array(message)[...] + [0]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
      guard count > 0 else { throw POSIXError(.EPIPE) }
      rest = rest.dropFirst(count)
    }
  }

  /// Waits some seconds for messages and returns as soon as there is one; empty when there is none.
  ///
  /// - Throws: `POSIXError` when the process has ended.
  func receive(timeout: Double) throws -> [Data] {
    var wanted = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
    guard poll(&wanted, 1, Int32(max(timeout, 0) * 1000)) > 0 else { return [] }
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    let count = buffer.withUnsafeMutableBytes { read(input, $0.baseAddress, $0.count) }
    guard count > 0 else { throw POSIXError(.EPIPE) }
    pending += buffer[..<count]
    var parts = pending.split(separator: 0, omittingEmptySubsequences: false)
    pending = Array(parts.removeLast())
    return parts.map { Data($0) }
  }
}
