import CSystemShim
import Foundation
import Testing

@testable import TileServe

/// Pages that are sent without a copy.
@Suite(.enabled(if: csystem_can_move_pages() == 1, "this system sends no pages of memory")) struct SharedPagesTests {
  private func bytes(_ seed: UInt8, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 >> 8) &+ UInt8(truncatingIfNeeded: $0) &+ seed }
  }

  private func read(_ socket: Int32, _ count: Int) -> [UInt8] {
    var room = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = room.withUnsafeMutableBytes { recv(socket, $0.baseAddress! + done, count - done, 0) }
      guard got > 0 else { break }
      done += got
    }
    return Array(room[..<done])
  }

  private func connected(_ body: (_ near: Int32, _ far: Int32) throws -> Void) throws {
    var ends: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    #expect(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0)
    try body(ends[0], ends[1])
  }

  /// The client reads them after they are gone, and after others have their place.
  @Test func pagesThatWereSentOutliveTheirObject() throws {
    let pipe = PagePipe()
    try connected { near, far in
      for seed in UInt8(0)..<20 {
        let expected = bytes(seed, 50_000)
        let sent = try #require(expected.withUnsafeBytes(SharedPages.init)).sent(pipe, near)
        let others = (0..<4).map { bytes(100 + $0, 50_000).withUnsafeBytes(SharedPages.init) }
        #expect(others.allSatisfy { $0 != nil })
        #expect(sent > 0 && read(far, sent) == Array(expected[..<sent]))
      }
    }
  }

  /// A socket that is full takes a part, and the pipe keeps nothing of the rest.
  @Test func aFullSocketTakesAPart() throws {
    let pipe = PagePipe()
    try connected { near, far in
      let expected = bytes(7, 4 << 20)
      let pages = try #require(expected.withUnsafeBytes(SharedPages.init))
      let sent = pipe.send(pages, to: near)
      #expect(sent > 0 && sent < expected.count)
      #expect(pipe.send(pages, to: near) == 0)
      #expect(read(far, sent) == Array(expected[..<sent]))
      let small = try #require(bytes(9, 20_000).withUnsafeBytes(SharedPages.init))
      #expect(pipe.send(small, to: near) == 20_000)
      #expect(read(far, 20_000) == bytes(9, 20_000))
    }
  }

  @Test func aClosedSocketTakesNothing() throws {
    let pipe = PagePipe()
    signal(SIGPIPE, SIG_IGN)
    try connected { near, far in
      shutdown(far, Int32(SHUT_RD))
      let pages = try #require(bytes(1, 20_000).withUnsafeBytes(SharedPages.init))
      #expect(pipe.send(pages, to: near) == 0)
    }
  }

  @Test func smallBodiesHaveNone() {
    #expect(bytes(0, SharedPages.bytesMin - 1).withUnsafeBytes(SharedPages.init) == nil)
  }
}

extension SharedPages {
  /// Sends them, and ends with the call if nobody else has them.
  fileprivate func sent(_ pipe: PagePipe, _ socket: Int32) -> Int { pipe.send(self, to: socket) }
}
