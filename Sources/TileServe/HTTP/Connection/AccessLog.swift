import Support
import Synchronization

/// One line for each request, in the Combined Log Format, with the milliseconds at the end. Lines are buffered and
/// written by another thread, so that a slow disk does not delay responses.
public final class AccessLog: Sendable {
  /// Writes lines, each of which ends with a newline. Called by one thread at a time; may block.
  public typealias Sink = @Sendable ([UInt8]) -> Void

  /// Bytes that are buffered; beyond that lines are dropped.
  static let waitingBytesMax = 4 << 20

  private struct State {
    var bytes: [UInt8] = []
    var leftOut = 0
  }

  private let state = Mutex(State())
  private let sink: Sink

  /// A log that passes complete lines to a closure.
  public init(_ sink: @escaping Sink) { self.sink = sink }

  func record(_ facts: RequestFacts, _ reply: EncodedResponse, peer: String, nanoseconds: Int64) {
    func quoted(_ text: String?) -> String {
      guard let text else { return "-" }
      // A client must not be able to forge lines.
      return String(
        decoding: text.utf8.prefix(512).map {
          $0 < 0x20 || $0 == 0x7f || $0 == UInt8(ascii: "\"") ? UInt8(ascii: "?") : $0
        },
        as: UTF8.self)
    }
    let method =
      facts.method == .get ? "GET" : facts.method == .head ? "HEAD" : facts.method == .options ? "OPTIONS" : "-"
    let milliseconds = Double(nanoseconds / 1000) / 1000
    let line = """
      \(peer) - - [\(LogDate.text(WallClock.seconds))] \
      "\(method) \(quoted(facts.target)) HTTP/1.\(facts.minorVersion)" \
      \(reply.status) \(reply.bodyCount) "\(quoted(facts.referer))" "\(quoted(facts.userAgent))" \(milliseconds)

      """
    state.withLock { state in
      if state.bytes.count + line.utf8.count > Self.waitingBytesMax {
        state.leftOut += 1
      } else {
        state.bytes.append(contentsOf: line.utf8)
      }
    }
  }

  /// Writes the buffered lines. Blocks.
  func flush() {
    let (bytes, leftOut) = state.withLock { state in
      defer { state = State() }
      return (state.bytes, state.leftOut)
    }
    if !bytes.isEmpty { sink(bytes) }
    if leftOut > 0 { sink(Array("# \(leftOut) lines left out: they came faster than they could be written\n".utf8)) }
  }
}

private enum LogDate {
  /// `06/Nov/1994:08:49:37 +0000`
  static func text(_ seconds: Int) -> String {
    let parts = HTTPDate.text(seconds).split(separator: " ")
    return "\(parts[1])/\(parts[2])/\(parts[3]):\(parts[4]) +0000"
  }
}
