import Logging
import NIOCore
import NIOEmbedded
import TestSupport
import Testing
import TilePrefetch

@testable import TileServe

/// Clients that send many requests at once, and do not read the answers.
@Suite(.ownThread) struct TurnTests {
  /// Each gets a few answers at a time; in between the event loop turns to the others.
  @Test(arguments: [true, false]) func aTurnHasFewAnswers(_ isFast: Bool) throws {
    let metrics = Metrics(shardCount: 1, cache: DrawnTileCache(byteCountMax: 1 << 20), readyBytes: { 0 })
    let options = TileServerOptions()
    let service = TileService(
      try TilesetRegistry([SampleTilesets.path]), options, boundOrigin: "http://127.0.0.1:80", metrics: metrics,
      alarm: DescriptorAlarm(Logger(label: "test")), logger: Logger(label: "test"))
    let fastPath = isFast ? FastPath.Loop(FastPath(byteCountMax: 1 << 20)) : nil
    let loop = LoopState(limits: options.limits, shard: metrics.shards[0], accessLog: nil, fastPath: fastPath)
    let channel = EmbeddedChannel()
    let connection = ConnectionHandler(service, loop, peer: "127.0.0.1", isTrusted: false)
    try channel.pipeline.syncOperations.addHandlers([RequestReader(connection, options.limits), connection])
    func answers() throws -> Int {
      var text = ""
      while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
      return text.split(separator: "HTTP/1.1 200 OK").count
    }
    let count = 100
    try channel.writeInbound(
      ByteBuffer(string: String(repeating: HTTPConnection.head("/health"), count: count)))
    var all = try answers()
    #expect((1...16).contains(all))
    for _ in 0..<count where all < count {
      channel.embeddedEventLoop.advanceTime(by: .microseconds(100))
      let more = try answers()
      #expect((1...16).contains(more))
      all += more
    }
    #expect(all == count)
    _ = try? channel.finish()
  }

  /// All of them are answered, in their order.
  @Test(arguments: ["Accept: */*", "Connection: keep-alive"]) func allAreAnswered(_ field: String) async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let connection = try served.connect()
      let targets = (0..<500).map { ["/health", "/relief/0/0/0.png", "/nothing/0/0/0.png", "/relief.json"][$0 % 4] }
      let expected = try targets.prefix(4).map { try served.get($0) }
      let parts = field.split(separator: ": ").map(String.init)
      try connection.send(targets.map { HTTPConnection.head($0, [parts[0]: parts[1]]) }.joined())
      for (index, target) in targets.enumerated() {
        let response = try connection.response()
        #expect(response.status == expected[index % 4].status && response.body == expected[index % 4].body, "\(target)")
      }
    }
  }
}
