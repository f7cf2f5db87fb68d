import Foundation

/// A keep-alive connection to this machine, for one thread. It uses little processor time, which it shares with the
/// server.
final class KeepAliveConnection {
  struct Answer {
    let status: Int
    let body: [UInt8]
  }

  private let descriptor: CInt
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)

  init(port: Int) throws {
    descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
    let code = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard descriptor >= 0, code == 0 else { throw StoreBench.Failure(description: "cannot connect to port \(port)") }
    var one: CInt = 1
    setsockopt(descriptor, CInt(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<CInt>.size))
  }

  deinit { close(descriptor) }

  /// - Throws: `StoreBench.Failure` when the connection ends.
  func post(_ path: String, token: String? = nil, _ body: some Collection<UInt8>) throws -> Answer {
    var request = Array(
      ("POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n"
        + (token.map { "Authorization: Bearer \($0)\r\n" } ?? "") + "\r\n").utf8)
    request.append(contentsOf: body)
    var sent = 0
    while sent < request.count {
      let count = request[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
      guard count > 0 else { throw StoreBench.Failure(description: "the server ended the connection") }
      sent += count
    }
    return try receive()
  }

  private func receive() throws -> Answer {
    var bytes: [UInt8] = []
    while true {
      if let end = bytes.firstRange(of: [0x0d, 0x0a, 0x0d, 0x0a]) {
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).lowercased()
        let length =
          head.split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }
          .flatMap { Int($0.dropFirst(16)) } ?? 0
        while bytes.count < end.upperBound + length { bytes += try more() }
        return Answer(
          status: Int(head.dropFirst(9).prefix(3)) ?? 0, body: Array(bytes[end.upperBound..<end.upperBound + length]))
      }
      bytes += try more()
    }
  }

  private func more() throws -> ArraySlice<UInt8> {
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { throw StoreBench.Failure(description: "the server ended the connection") }
    return buffer[..<count]
  }
}
