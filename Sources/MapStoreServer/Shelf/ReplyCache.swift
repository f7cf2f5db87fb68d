import Crypto
import NIOCore
import Support
import Synchronization

/// What a ``ReplyCache`` is asked. Clients choose most of it, so what it takes counts.
protocol ReplyQuestion: Hashable, Sendable {
  /// About, in memory.
  var byteCount: Int { get }
}

extension String: ReplyQuestion {
  var byteCount: Int { utf8.count }
}

/// Finished bodies of questions that are asked again and again, plain and compressed.
final class ReplyCache<Question: ReplyQuestion>: Sendable {
  /// Questions can be made up without end, and be long.
  private let bytesMax: Int
  private let ofOneMax: Int
  private let state = Mutex(State())

  private struct State {
    var bodies: [Question: ReplyBody] = [:]
    /// Its keys, in no order.
    var questions: [Question] = []
    var bytes = 0
  }

  /// - Parameters:
  ///   - bytesMax: of all questions and bodies together.
  ///   - ofOneMax: what takes more is made anew each time.
  init(bytesMax: Int, ofOneMax: Int) { (self.bytesMax, self.ofOneMax) = (bytesMax, ofOneMax) }

  /// What is kept takes, at most.
  var bytes: Int { state.withLock { $0.bytes } }

  /// The body of a question, where it is kept.
  func known(_ question: Question) -> ReplyBody? { state.withLock { $0.bodies[question] } }

  /// The body of a question, made when it is not there.
  func body(for question: Question, _ make: () throws -> [UInt8]) rethrows -> ReplyBody {
    if let known = known(question) { return known }
    let body = ReplyBody(try make())
    let count = Self.bytes(question, body)
    guard count <= min(ofOneMax, bytesMax) else { return body }
    state.withLock { state in
      // Somebody else may have made it meanwhile.
      guard state.bodies[question] == nil else { return }
      // Any go: when more are asked for than there is room for, the oldest would be just those that are asked for next.
      while state.bytes + count > bytesMax {
        let place = Int.random(in: state.questions.indices)
        let gone = state.questions[place]
        state.questions[place] = state.questions[state.questions.count - 1]
        state.questions.removeLast()
        guard let old = state.bodies.removeValue(forKey: gone) else { continue }
        state.bytes -= Self.bytes(gone, old)
      }
      state.bodies[question] = body
      state.questions.append(question)
      state.bytes += count
    }
    return body
  }

  /// The compressed form is made later, and takes no more than the plain one.
  private static func bytes(_ question: Question, _ body: ReplyBody) -> Int {
    question.byteCount + 2 * body.plain.readableBytes + 256
  }
}

/// The bytes of an answer.
final class ReplyBody: Sendable {
  let plain: ByteBuffer
  /// The same for the same bytes.
  let tag: String
  private let packed = Mutex<ByteBuffer?>(nil)
  /// Less is not worth it.
  private static let packedBytesMin = 256

  init(_ bytes: [UInt8]) {
    plain = ByteBuffer(bytes: bytes)
    tag = Hexadecimal.text(SHA256.hash(data: bytes).prefix(12))
  }

  var isWorthPacking: Bool { plain.readableBytes >= Self.packedBytesMin }

  /// Made when it is asked for the first time; nil where it would not be smaller.
  func gzip() -> ByteBuffer? {
    guard isWorthPacking else { return nil }
    return packed.withLock { packed in
      if packed == nil { packed = Gzip.compress(Array(plain.readableBytesView)).map { ByteBuffer(bytes: $0) } }
      return packed
    }
  }
}
