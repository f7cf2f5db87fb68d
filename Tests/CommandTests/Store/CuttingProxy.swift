import Foundation
import TestSupport

/// A proxy between clients and a server that behaves like a bad network: it ends connections after a number of bytes of
/// answers.
final class CuttingProxy: Sendable {
  private struct State {
    /// Continues over all connections.
    var seed: UInt64
    var serverPort = 0
    var cutsWithin: ClosedRange<Int>?
    var cuts = 0
    var isOver = false
    var loss: Loss?
    var losses = 0
  }

  /// What is lost: the request from its first byte on, or its answer.
  struct Loss {
    var request: String
    var isOfAnswer: Bool
  }

  let port: Int
  private let listener: Int32
  private let state: Locked<State>

  init(seed: UInt64) throws {
    state = Locked(State(seed: seed))
    #if canImport(Glibc)
      let door = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
      let door = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isUp = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(door, address, length) == 0 && listen(door, 64) == 0
          && getsockname(door, address, &length) == 0
      }
    }
    guard isUp else { throw StoreStory.Unexpected(description: "no network: \(String(cString: strerror(errno)))") }
    port = Int(UInt16(bigEndian: address.sin_port))
    listener = door
    let state = state
    Thread.detachNewThread {
      while true {
        let client = accept(door, nil, nil)
        if state.withLock({ $0.isOver }) { return }
        if client >= 0 { Thread.detachNewThread { Self.serve(client, state) } }
      }
    }
  }

  deinit {
    state.withLock { $0.isOver = true }
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// The server's current address.
  func forward(to port: Int) { state.withLock { $0.serverPort = port } }

  /// Each new connection is cut off after a random number of bytes of answers within the range; nil cuts none.
  func cut(within bytes: ClosedRange<Int>?) { state.withLock { $0.cutsWithin = bytes } }

  /// The number of connections that were cut off.
  var cuts: Int { state.withLock { $0.cuts } }

  /// Requests that begin with this text are lost from now on, or their answers; nil loses nothing. The connection stays
  /// open.
  func lose(_ loss: Loss?) { state.withLock { $0.loss = loss } }

  /// The number of lost requests or answers.
  var losses: Int { state.withLock { $0.losses } }

  private static func serve(_ client: Int32, _ state: Locked<State>) {
    defer { close(client) }
    let (port, most) = state.withLock { state in
      state.seed &+= 1
      var random = SeededGenerator(seed: state.seed)
      return (state.serverPort, state.cutsWithin.map { Int.random(in: $0, using: &random) } ?? .max)
    }
    // If the server is down the connection ends at once.
    guard let server = try? Socket(port: port) else { return }
    let upstream = server.descriptor
    let requests = DispatchSemaphore(value: 0)
    let lost = Locked<Loss?>(nil)
    Thread.detachNewThread {
      _ = pump(from: client, to: upstream, most: .max) { bytes in
        if let loss = state.withLock({ $0.loss }), bytes.starts(with: loss.request.utf8) {
          lost.withLock { $0 = loss }
          if !loss.isOfAnswer { state.withLock { $0.losses += 1 } }
        }
        return lost.withLock { $0?.isOfAnswer ?? true }
      }
      shutdown(upstream, Int32(SHUT_WR))
      requests.signal()
    }
    let sent = pump(from: upstream, to: client, most: most) { _ in
      guard lost.withLock({ $0 != nil }) else { return true }
      state.withLock { $0.losses += 1 }
      return false
    }
    if sent == most { state.withLock { $0.cuts += 1 } }
    shutdown(client, Int32(SHUT_RDWR))
    shutdown(upstream, Int32(SHUT_RDWR))
    // A descriptor must not be reused while the other thread still uses it.
    requests.wait()
    server.close()
  }

  /// - Parameter arrives: whether received bytes are passed on.
  /// - Returns: the number of bytes passed on.
  private static func pump(
    from source: Int32, to target: Int32, most: Int, arrives: (ArraySlice<UInt8>) -> Bool
  ) -> Int {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    var count = 0
    #if canImport(Glibc)
      let flags = Int32(MSG_NOSIGNAL)
    #else
      let flags: Int32 = 0
    #endif
    while count < most {
      let received = recv(source, &buffer, min(buffer.count, most - count), 0)
      if received < 0, errno == EINTR || errno == EAGAIN { continue }
      guard received > 0 else { break }
      guard arrives(buffer[..<received]) else { continue }
      var sent = 0
      while sent < received {
        let done = buffer[sent..<received].withUnsafeBytes { send(target, $0.baseAddress, $0.count, flags) }
        guard done > 0 else { return count }
        sent += done
      }
      count += received
    }
    return count
  }
}
