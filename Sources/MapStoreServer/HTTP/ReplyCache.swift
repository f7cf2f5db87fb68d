import Crypto
import NIOCore
import Support
import Synchronization

/// A key of a ``ReplyCache``. Clients choose most of it, so its memory counts too.
protocol ReplyCacheKey: Hashable, Sendable {
  /// The approximate memory of the key.
  var byteCount: Int { get }
}

extension String: ReplyCacheKey {
  var byteCount: Int { utf8.count }
}

/// A cache of finished response bodies, plain and compressed, within a budget of memory.
final class ReplyCache<Key: ReplyCacheKey>: Sendable {
  private let bytesMax: Int
  private let ofOneMax: Int
  private let state = Mutex(State())

  private struct State {
    var bodies: [Key: ReplyBody] = [:]
    /// The keys of `bodies`, in no order.
    var keys: [Key] = []
    var bytes = 0
  }

  /// - Parameters:
  ///   - bytesMax: of all keys and bodies together.
  ///   - ofOneMax: larger entries are not kept.
  init(bytesMax: Int, ofOneMax: Int) { (self.bytesMax, self.ofOneMax) = (bytesMax, ofOneMax) }

  /// An upper bound of the memory in use.
  var bytes: Int { state.withLock { $0.bytes } }

  /// The body of a key, if it is kept.
  func known(_ key: Key) -> ReplyBody? { state.withLock { $0.bodies[key] } }

  /// The body of a key; made if it is not kept.
  func body(for key: Key, _ make: () throws -> [UInt8]) rethrows -> ReplyBody {
    if let known = known(key) { return known }
    let body = ReplyBody(try make())
    let count = Self.bytes(key, body)
    guard count <= min(ofOneMax, bytesMax) else { return body }
    state.withLock { state in
      // Another request may have made it meanwhile.
      guard state.bodies[key] == nil else { return }
      // Random eviction: with LRU, a cyclic access pattern over more keys than fit would never hit.
      while state.bytes + count > bytesMax {
        let place = Int.random(in: state.keys.indices)
        let gone = state.keys[place]
        state.keys[place] = state.keys[state.keys.count - 1]
        state.keys.removeLast()
        guard let old = state.bodies.removeValue(forKey: gone) else { continue }
        state.bytes -= Self.bytes(gone, old)
      }
      state.bodies[key] = body
      state.keys.append(key)
      state.bytes += count
    }
    return body
  }

  /// Counts the compressed form, which is made later, with the size of the plain one.
  private static func bytes(_ key: Key, _ body: ReplyBody) -> Int {
    key.byteCount + 2 * body.plain.readableBytes + 256
  }
}

/// The bytes of a response, plain and, once needed, compressed.
final class ReplyBody: Sendable {
  let plain: ByteBuffer
  /// A hash of the bytes.
  let tag: String
  private let packed = Mutex<ByteBuffer?>(nil)
  /// Of whoever began to send the body that others are sent as well.
  private let share = Mutex(WeakShare())
  /// Smaller bodies are not worth compressing.
  private static let packedBytesMin = 256

  init(_ bytes: [UInt8]) {
    plain = ByteBuffer(bytes: bytes)
    tag = Hexadecimal.text(SHA256.hash(data: bytes).prefix(12))
  }

  var isWorthPacking: Bool { plain.readableBytes >= Self.packedBytesMin }
  /// Whether ``gzip()`` has nothing left to compute.
  var isPacked: Bool { !isWorthPacking || packed.withLock { $0 != nil } }

  /// Compressed on first use; nil for small bodies.
  func gzip() -> ByteBuffer? {
    guard isWorthPacking else { return nil }
    return packed.withLock { packed in
      if packed == nil { packed = Gzip.compress(Array(plain.readableBytesView)).map { ByteBuffer(bytes: $0) } }
      return packed
    }
  }

  /// The memory of the body, counted once while it is sent to any number of clients.
  ///
  /// - Parameter take: makes the share; nil if there is no room.
  func share(_ take: () -> FairBudget.Share?) -> FairBudget.Share? {
    share.withLock { known in
      if let share = known.share { return share }
      let share = take()
      known.share = share
      return share
    }
  }

  private struct WeakShare {
    weak var share: FairBudget.Share?
  }
}
