import Foundation
import LibC
import TestSupport
import Testing

@testable import TileServe

/// Listeners that only programs on this machine can reach.
@Suite(.ownThread) struct LocalListenerTests {
  @Test(arguments: [
    ("127.0.0.1", true), ("127.8.9.10", true), ("localhost", true), ("LocalHost", true), ("::1", true),
    ("0.0.0.0", false),
    ("::", false), ("192.168.1.1", false), ("fe80::1", false), ("127.example.org", false), ("localhost.example", false),
  ])
  func loopbackAddressesAreLocal(host: String, isLocal: Bool) {
    var options = TileServerOptions()
    options.host = host
    #expect(options.isReachedFromHereAlone == isLocal)
  }

  #if canImport(Glibc)
    /// Connections of an IPv4 address, and the same of an IPv6 one in brackets.
    @Test(arguments: ["127.0.0.1", "[::1]"]) func localConnectionsUseReno(host: String)
      async throws
    {
      let isIPv6 = host.contains(":")
      guard !isIPv6 || CongestionControl.hasIPv6 else {
        print("skipped: this machine has no ::1")
        return
      }
      let folder = try TemporaryFolder()
      try await serving([folder.path]) {
        $0.host = host
      } _: { (served) async throws in
        let connection = HTTPConnection(try Socket(port: served.port, isIPv6: isIPv6))
        #expect(try connection.request("/health").text == "ok\n")
        let found = CongestionControl.connections(toPort: served.port)
        #expect(!found.isEmpty && found.allSatisfy { $0 == "reno" }, "\(found)")
        #expect(served.server.url == "http://\(host):\(served.port)/")
      }
    }

    @Test func otherListenersUseTheSystemsCongestionControl() async throws {
      let folder = try TemporaryFolder()
      try await serving([folder.path]) {
        $0.host = "0.0.0.0"
      } _: { (served) async throws in
        let connection = try served.connect()
        #expect(try connection.request("/health").status == 200)
        let found = CongestionControl.connections(toPort: served.port)
        #expect(!found.isEmpty && found.allSatisfy { $0 == CongestionControl.systems }, "\(found)")
      }
    }
  #endif
}

#if canImport(Glibc)
  private enum CongestionControl {
    /// What a new socket has.
    static var systems: String? {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      return of(descriptor)
    }

    static var hasIPv6: Bool {
      let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
      defer { close(descriptor) }
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      withUnsafeMutableBytes(of: &address.sin6_addr) { $0[15] = 1 }
      return withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in6>.size)) == 0
        }
      }
    }

    /// Those of this process's connections that were made to a port of its own.
    static func connections(toPort port: Int) -> [String] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return names.compactMap(Int32.init).filter { localPort($0) == port && isConnected($0) }.compactMap(of)
    }

    private static func of(_ descriptor: Int32) -> String? {
      var name = [UInt8](repeating: 0, count: 16)
      var size = socklen_t(name.count)
      guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &size) == 0 else { return nil }
      return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
    }

    private static func isConnected(_ descriptor: Int32) -> Bool {
      var peer = sockaddr_storage()
      var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
      return withUnsafeMutablePointer(to: &peer) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
      }
    }

    /// The port stands at the same place in both kinds of address.
    private static func localPort(_ descriptor: Int32) -> Int? {
      var own = sockaddr_in6()
      var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
      let isNamed = withUnsafeMutablePointer(to: &own) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) == 0 }
      }
      guard isNamed, [sa_family_t(AF_INET), sa_family_t(AF_INET6)].contains(own.sin6_family) else { return nil }
      return Int(in_port_t(bigEndian: own.sin6_port))
    }
  }
#endif
