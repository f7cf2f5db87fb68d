import Crypto
import NIOCore
import Synchronization

/// Finished bodies of questions that are asked again and again, plain and compressed.
final class ReplyCache<Question: Hashable & Sendable>: Sendable {
  /// Questions can be made up without end.
  private let countMax: Int
  private let state = Mutex(State())

  private struct State {
    var bodies: [Question: ReplyBody] = [:]
    /// Its keys, in no order.
    var questions: [Question] = []
  }

  init(countMax: Int) { self.countMax = countMax }

  /// The body of a question, made when it is not there.
  func body(for question: Question, _ make: () throws -> [UInt8]) rethrows -> ReplyBody {
    if let known = state.withLock({ $0.bodies[question] }) { return known }
    let body = ReplyBody(try make())
    state.withLock { state in
      // Somebody else may have made it meanwhile.
      guard state.bodies.updateValue(body, forKey: question) == nil else { return }
      if state.questions.count < countMax {
        state.questions.append(question)
      } else {
        // Any one goes: when more are asked for than there is room for, the oldest would be just those that are asked for next.
        let place = Int.random(in: state.questions.indices)
        state.bodies[state.questions[place]] = nil
        state.questions[place] = question
      }
    }
    return body
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
