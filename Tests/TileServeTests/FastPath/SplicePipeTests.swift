import Foundation
import TestSupport
import Testing

@testable import TileServe

#if canImport(Glibc)
  import Glibc

  /// Sending pages of a mapped file to a socket.
  @Suite(.ownThread) struct SplicePipeTests {
    private let folder: TemporaryFolder
    private let bytes: [UInt8]
    private let mapping: UnsafeMutableRawPointer

    init() throws {
      folder = try TemporaryFolder()
      var random = SeededGenerator(seed: 7)
      bytes = (0..<3_000_000).map { _ in UInt8.random(in: 0...255, using: &random) }
      try Data(bytes).write(to: URL(fileURLWithPath: folder.file("file")))
      let file = open(folder.file("file"), O_RDONLY)
      mapping = mmap(nil, bytes.count, PROT_READ, MAP_SHARED, file, 0)
      close(file)
    }

    private func send(_ pieces: [Range<Int>], _ pipe: SplicePipe, to socket: Int32) -> Int? {
      var parts = pieces.map { iovec(iov_base: mapping + $0.lowerBound, iov_len: $0.count) }
      return parts.withUnsafeMutableBufferPointer { pipe.send($0, to: socket) }
    }

    private func content(_ pieces: [Range<Int>]) -> [UInt8] { pieces.flatMap { bytes[$0] } }

    /// A pair of connected sockets, the first of which is non-blocking.
    private func sockets() -> (Int32, Int32) {
      var pair: [Int32] = [-1, -1]
      #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
      _ = fcntl(pair[0], F_SETFL, O_NONBLOCK)
      var room: Int32 = 200_000
      setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &room, socklen_t(MemoryLayout<Int32>.size))
      return (pair[0], pair[1])
    }

    private func received(_ socket: Int32, _ count: Int) -> [UInt8] {
      var room = [UInt8](repeating: 0, count: count)
      var have = 0
      while have < count {
        let more = room.withUnsafeMutableBytes {
          recv(socket, $0.baseAddress! + have, count - have, Int32(MSG_DONTWAIT))
        }
        guard more > 0 else { break }
        have += more
      }
      return Array(room.prefix(have))
    }

    /// The last one three times: more pieces than the pipe holds.
    @Test func piecesArriveInOrder() {
      let (near, far) = sockets()
      let pipe = SplicePipe()
      let many = (0..<200).map { $0 * 4096 + 10..<$0 * 4096 + 10 + $0 }
      for pieces in [
        [4..<40], [4..<16_384, 16_388..<32_768, 40_000..<40_001], [8191..<8193], [1_000_000..<1_060_000], many, many,
        many,
      ] {
        #expect(send(pieces, pipe, to: near) == content(pieces).count)
        #expect(received(far, 200_000) == content(pieces))
      }
      close(near)
      close(far)
    }

    /// Bytes that a socket did not take are not sent to the next one.
    @Test func fullSocketLeavesThePipeEmpty() throws {
      let pipe = SplicePipe()
      for round in 0..<20 {
        let (full, reader) = sockets()
        let pieces = [round * 1000..<1_400_000, 1_500_000..<3_000_000]
        let taken = try #require(send(pieces, pipe, to: full))
        #expect(taken > 0 && taken < content(pieces).count)
        let (near, far) = sockets()
        #expect(send([5..<50_005], pipe, to: near) == 50_000)
        #expect(received(far, 100_000) == Array(bytes[5..<50_005]))
        #expect(received(reader, 3_000_000) == Array(content(pieces).prefix(taken)))
        for socket in [full, reader, near, far] { close(socket) }
      }
    }

    /// As on a system that forbids the call.
    @Test func refusedPipeIsNotTriedAgain() throws {
      let pipe = SplicePipe()
      // The system cannot splice into a file that is opened for appending.
      let file = open(folder.file("appended"), O_WRONLY | O_CREAT | O_APPEND, 0o600)
      #expect(send([0..<10], pipe, to: file) == 0)
      let (near, far) = sockets()
      #expect(send([0..<10], pipe, to: near) == nil)
      #expect(received(far, 10) == [])
      for descriptor in [file, near, far] { close(descriptor) }
    }

    @Test func closedConnectionTakesNoBytes() {
      // As in the event loops.
      signal(SIGPIPE, SIG_IGN)
      let pipe = SplicePipe()
      let (near, far) = sockets()
      close(far)
      #expect(send([0..<50_000], pipe, to: near) == 0)
      let (next, reader) = sockets()
      #expect(send([7..<9], pipe, to: next) == 2)
      #expect(received(reader, 10) == Array(bytes[7..<9]))
      for socket in [near, next, reader] { close(socket) }
    }

    /// Pages before the truncated part are sent; the rest is reported by another call.
    @Test func truncatedFileDoesNotCrash() throws {
      #expect(truncate(folder.file("file"), 100_000) == 0)
      let (near, far) = sockets()
      let pipe = SplicePipe()
      #expect(send([200_000..<210_000], pipe, to: near) == nil)
      #expect(send([0..<10], pipe, to: near) == 10)
      #expect(received(far, 100) == Array(bytes[0..<10]))
      close(near)
      close(far)
    }
  }
#endif
