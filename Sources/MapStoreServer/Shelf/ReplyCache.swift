import NIOCore
import Synchronization

/// Finished bodies of questions that many ask, plain and compressed.
final class ReplyCache: Sendable {
  struct Body: Sendable {
    let plain: ByteBuffer
    /// Nil where it would not be smaller.
    let gzip: ByteBuffer?

    init(_ bytes: [UInt8]) {
      plain = ByteBuffer(bytes: bytes)
      gzip = bytes.count < 512 ? nil : Gzip.compress(bytes).map { ByteBuffer(bytes: $0) }
    }
  }

  /// Questions can be made up without end.
  private static let countMax = 512
  private let bodies = Mutex<[String: Body]>([:])

  /// The body of a question, made when it is not there.
  func body(for question: String, _ make: () throws -> [UInt8]) rethrows -> Body {
    if let known = bodies.withLock({ $0[question] }) { return known }
    let body = Body(try make())
    bodies.withLock { bodies in
      if bodies.count >= Self.countMax { bodies.removeAll() }
      bodies[question] = body
    }
    return body
  }
}
