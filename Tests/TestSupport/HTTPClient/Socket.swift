import LibC

/// A client's stream socket that sends any bytes in any pieces. All calls block, for 30 seconds at most.
public final class Socket {
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
    /// The system's error number.
    public let code: Int32

    init(_ call: String, code: Int32 = errno) {
      description = "\(call): \(String(cString: strerror(code)))"
      self.code = code
    }
  }

  public private(set) var descriptor: Int32

  /// - Parameters:
  ///   - receiveBytes: the size of the system's receive buffer, for slow clients.
  ///   - source: the last number of the client's own address, 127.0.0.N. Linux has all of them.
  public init(port: Int, isIPv6: Bool = false, receiveBytes: Int? = nil, source: UInt8? = nil) throws {
    descriptor = try Self.make(isIPv6 ? AF_INET6 : AF_INET)
    if let receiveBytes { set(SOL_SOCKET, SO_RCVBUF, Int32(receiveBytes)) }
    if isIPv6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = in_port_t(port).bigEndian
      // ::1
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0[15] = 1 }
      try connectTo(&address)
    } else {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      if let source {
        address.sin_addr.s_addr = (UInt32(0x7f00_0000) | UInt32(source)).bigEndian
        guard Self.systemBind(descriptor, address) else { throw Failure("bind") }
      }
      address.sin_port = in_port_t(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      try connectTo(&address)
    }
    set(Int32(IPPROTO_TCP), TCP_NODELAY, Int32(1))
  }

  public init(unixSocket path: String) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    descriptor = try Self.make(AF_UNIX)
    try connectTo(&address)
  }

  deinit { close() }

  private static func make(_ family: Int32) throws -> Int32 {
    #if canImport(Glibc)
      let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
      let descriptor = socket(family, SOCK_STREAM, 0)
    #endif
    guard descriptor >= 0 else { throw Failure("socket") }
    return descriptor
  }

  private func connectTo<Address>(_ address: inout Address) throws {
    set(SOL_SOCKET, SO_RCVTIMEO, timeval(tv_sec: 30, tv_usec: 0))
    set(SOL_SOCKET, SO_SNDTIMEO, timeval(tv_sec: 30, tv_usec: 0))
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    guard code == 0 else { throw Failure("connect") }
  }

  private static func systemBind(_ descriptor: Int32, _ address: sockaddr_in) -> Bool {
    withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  private func set<Value>(_ level: Int32, _ name: Int32, _ value: Value) {
    _ = withUnsafePointer(to: value) { setsockopt(descriptor, level, name, $0, socklen_t(MemoryLayout<Value>.size)) }
  }

  private static let lastUnshared = Locked(Int.random(in: 0..<10_000))

  /// A free port that the system gives to nobody who asks for any: for tests that listen twice on one port, or look
  /// whether it is closed, while others' servers start and end.
  public static func unsharedPort() throws -> Int {
    for _ in 0..<1000 {
      // Below the ports that Linux (from 32768) and macOS (from 49152) give.
      let port = lastUnshared.withLock {
        $0 = ($0 + 1) % 10_000
        return 20_000 + $0
      }
      let descriptor = try make(AF_INET)
      defer { systemClose(descriptor) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(port).bigEndian
      if systemBind(descriptor, address) { return port }
    }
    throw Failure("no port is free", code: EADDRINUSE)
  }

  /// Sends all bytes.
  public func send(_ bytes: [UInt8]) throws {
    #if canImport(Darwin)
      let flags: Int32 = 0
    #else
      let flags = Int32(MSG_NOSIGNAL)
    #endif
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { systemSend(descriptor, $0.baseAddress, $0.count, flags) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Failure("send") }
      rest = rest.dropFirst(count)
    }
  }

  public func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// The next bytes; empty at the end of the stream.
  public func receive(countMax: Int = 65_536) throws -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: countMax)
    while true {
      let count = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Failure("receive") }
      return Array(buffer.prefix(count))
    }
  }

  /// Ends the sending half of the connection.
  public func finishSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  public func close() {
    guard descriptor >= 0 else { return }
    systemClose(descriptor)
    descriptor = -1
  }

  /// Ends the connection with a reset.
  public func reset() {
    set(SOL_SOCKET, SO_LINGER, linger(l_onoff: 1, l_linger: 0))
    close()
  }
}

// The class has methods of the same names.
private func systemSend(_ socket: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
  send(socket, bytes, count, flags)
}
private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }
