import Foundation
import TestSupport
import Testing

@testable import TileServe

#if canImport(Glibc)
  import Glibc

  /// How connections are set up that do not leave the machine.
  @Suite(.ownThread) struct LocalListenerTests {
    /// The congestion controls of this process's connections that were made to a port.
    private func congestionControls(toPort port: Int) -> [String] {
      (0..<Int32(getdtablesize())).compactMap { descriptor in
        var peer = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isConnected = withUnsafeMutablePointer(to: &peer) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
        }
        var own = sockaddr_in()
        size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isNamed = withUnsafeMutablePointer(to: &own) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) == 0 }
        }
        guard isConnected, isNamed, own.sin_family == sa_family_t(AF_INET), Int(own.sin_port.byteSwapped) == port else {
          return nil
        }
        var name = [UInt8](repeating: 0, count: 16)
        size = 16
        guard getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_CONGESTION, &name, &size) == 0 else { return nil }
        return String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
      }
    }

    @Test(arguments: [("127.0.0.1", true), ("localhost", true), ("0.0.0.0", false)])
    func onlyConnectionsThatStayHereArePlain(host: String, isPlain: Bool) async throws {
      let folder = try TemporaryFolder()
      try await serving(
        [folder.path], { $0.host = host },
        { (served) async throws in
          let connection = try HTTPConnection(port: served.port)
          #expect(try connection.request("/health").status == 200)
          let found = congestionControls(toPort: served.port)
          let systems = try String(contentsOfFile: "/proc/sys/net/ipv4/tcp_congestion_control", encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
          #expect(found == [isPlain ? "reno" : systems])
        })
    }
  }
#endif
