import Foundation
import Support
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Requests for tiles over real sockets.
@Suite(.ownThread) struct TileConversationTests {
  @Test(arguments: [
    ("relief", "png", "image/png"), ("photo", "jpg", "image/jpeg"), ("photo", "jpeg", "image/jpeg"),
    ("air", "webp", "image/webp"),
  ])
  func imagesGoOutAsTheyAreStored(_ id: String, _ word: String, mediaType: String) async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let stored = try #require(try served.registry[id]?.storedTile(tile(1, 1, 0)))
      for fields in [[:], ["Accept-Encoding": "gzip, br"], ["Range": "bytes=0-9"], ["Accept": "text/html"]] {
        let response = try served.get("/\(id)/1/1/0.\(word)", fields)
        #expect(response.statusLine == "HTTP/1.1 200 OK", "\(response)")
        #expect(response.body == stored)
        #expect(response["Content-Type"] == mediaType)
        #expect(response["Content-Length"] == "\(stored.count)")
        #expect(response["Content-Encoding"] == nil && response["Accept-Ranges"] == nil && response["Vary"] == nil)
        #expect(response["Cache-Control"] == "public, max-age=300")
        #expect(response["Date"]?.hasSuffix(" GMT") == true)
        #expect(response["Access-Control-Allow-Origin"] == "*")
      }
      // The same tile without an extension, or with a query that is ignored.
      for target in [
        "/\(id)/1/1/0", "/\(id)/1/1/0.\(word)?v=2&x=9", "/\(id)/1/1/0?",
        "/%\(String(id.utf8.first!, radix: 16))\(id.dropFirst())/1/1/0",
      ] {
        #expect(try served.get(target).body == stored, "\(target)")
      }
    }
  }

  @Test func headIsGetWithoutABody() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for target in [
        "/relief/1/1/0.png", "/relief/2/3/3.png", "/relief.json", "/nothing", "/health", "/", "/roads/0/0/0.pbf",
      ] {
        let get = try served.get(target)
        let connection = try served.connect()
        let head = try connection.request(target, method: "HEAD")
        #expect(head.status == get.status, "\(target)")
        #expect(head.body.isEmpty)
        let names = { (response: HTTPResponse) in response.fields.filter { $0.name != "Date" } }
        #expect(names(head) == names(get), "\(target)")
        // No body: the next response follows at once.
        #expect(try connection.request("/health").text == "ok\n")
      }
    }
  }

  @Test func equalBytesHaveEqualEntityTags() async throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("a.mbtiles", zooms: 0...2, seed: 7)
    try folder.writeBundle("b.mbtiles", zooms: 0...1, seed: 7)
    try await serving([folder.path]) { (served) async throws in
      func tag(_ target: String) throws -> String { try #require(try served.get(target)["ETag"]) }
      let first = try tag("/a/1/0/1.png")
      #expect(first.wholeMatch(of: /"[0-9a-f]{16}"/) != nil, "\(first)")
      #expect(try tag("/a/1/1/0.png") == first && tag("/b/1/0/1.png") == first)
      #expect(try tag("/a/2/2/0.png") != first)
      #expect(try tag("/a.json") != tag("/b.json"))
      // A rendered tile has its own tag, which is stable.
      let drawn = try tag("/a/1/0/1.jpg")
      #expect(try drawn != first && tag("/a/1/0/1.jpg") == drawn)
    }
  }

  @Test func conditionalRequestsGet304() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let target = "/relief/1/1/0.png"
      let full = try served.get(target)
      let tag = try #require(full["ETag"])
      let date = try #require(full["Last-Modified"])
      let modified = try #require(HTTPDate.seconds(date))
      func answer(_ fields: [String: String], _ method: String = "GET") throws -> HTTPResponse {
        try served.get(target, method: method, fields)
      }
      for value in [tag, "W/\(tag)", "*", "\"x\", \(tag)", "\"a\",W/\(tag) ,\"b\"", "\t\(tag)"] {
        for method in ["GET", "HEAD"] {
          let response = try answer(["If-None-Match": value], method)
          #expect(response.statusLine == "HTTP/1.1 304 Not Modified", "\(value)")
          #expect(response["ETag"] == tag && response["Last-Modified"] == date)
          #expect(response["Cache-Control"] == full["Cache-Control"] && response["Content-Length"] == nil)
        }
      }
      for value in ["\"0000000000000000\"", String(tag.dropFirst().dropLast()), "", "W/", "\"\(tag)\""] {
        #expect(try answer(["If-None-Match": value]).status == 200, "\(value)")
      }
      #expect(try answer(["If-Modified-Since": date]).status == 304)
      // A later date may belong to another bundle that was here before.
      #expect(try answer(["If-Modified-Since": HTTPDate.text(modified + 60)]).status == 200)
      #expect(try answer(["If-Modified-Since": HTTPDate.text(modified - 1)]).status == 200)
      for nonsense in [
        "yesterday", "", "Sun, 99 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 99999999999999999999 08:49:37 GMT",
      ] {
        #expect(try answer(["If-Modified-Since": nonsense]).status == 200, "\(nonsense)")
      }
      // The tag takes precedence over the date (RFC 9110, section 13.1.3).
      #expect(try answer(["If-Modified-Since": date, "If-None-Match": "\"other\""]).status == 200)
      #expect(try answer(["If-Modified-Since": HTTPDate.text(0), "If-None-Match": tag]).status == 304)
    }
  }

  /// A date never validates other bytes: not if an older bundle replaced a newer one, nor if both have the same date.
  @Test func changedBytesAreNeverNotModified() async throws {
    let folder = try TemporaryFolder()
    let elsewhere = try TemporaryFolder()
    func put(seed: Int, date: Date?) throws {
      try elsewhere.writeBundle("new.mbtiles", zooms: 0...0, seed: seed)
      let path = elsewhere.file("new.mbtiles")
      if let date { try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path) }
      #expect(rename(path, folder.file("a.mbtiles")) == 0)
    }
    let yesterday = Date(timeIntervalSinceNow: -86_400)
    try put(seed: 1, date: nil)
    var dates: Set<String> = []
    for restarts in [false, true] {
      try await serving([folder.path]) { (served) async throws in
        let puts: [(Int, Date?)] =
          restarts ? [(12, yesterday), (13, yesterday)] : [(2, yesterday), (3, yesterday), (4, nil)]
        for (seed, date) in puts {
          for target in ["/a/0/0/0.png", "/a/0/0/0.jpg"] {
            let response = try served.get(target)
            dates.insert(try #require(response["Last-Modified"]))
          }
          try put(seed: seed, date: date)
          #expect(served.registry.refresh().replaced == ["a"])
          for since in dates {
            for target in ["/a/0/0/0.png", "/a/0/0/0.jpg"] {
              #expect(try served.get(target, ["If-Modified-Since": since]).status == 200, "\(seed)")
            }
          }
        }
      }
      try put(seed: 9, date: yesterday)
      try await serving([folder.path]) { (served) async throws in
        for since in dates {
          #expect(try served.get("/a/0/0/0.png", ["If-Modified-Since": since]).status == 200)
        }
      }
    }
  }

  @Test func vectorTilesAreDecompressedForClientsWithoutGzip() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      let stored = try #require(try served.registry["roads"]?.storedTile(tile(0, 0, 0)))
      let plain = try stored.withUnsafeBytes { try Gunzip.bytes($0, byteCountMax: 1 << 20) }
      for accepted in ["gzip", "br, gzip;q=0.5", "*", "GZIP", "x-gzip", "gzip;q=1.0, identity;q=0"] {
        let response = try served.get("/roads/0/0/0.pbf", ["Accept-Encoding": accepted])
        #expect(response.status == 200 && response.body == stored, "\(accepted)")
        #expect(response["Content-Encoding"] == "gzip" && response["Vary"] == "Accept-Encoding")
        #expect(response["Content-Type"] == "application/vnd.mapbox-vector-tile")
      }
      let packedTag = try #require(try served.get("/roads/0/0/0.pbf", ["Accept-Encoding": "gzip"])["ETag"])
      for accepted in [nil, "", "identity", "gzip;q=0", "br", "*;q=0", "gzip; q=0.000, *"] {
        let fields = accepted.map { ["Accept-Encoding": $0] } ?? [:]
        let response = try served.get("/roads/0/0/0.mvt", fields)
        #expect(response.status == 200 && response.body == plain, "\(accepted ?? "-")")
        #expect(response["Content-Encoding"] == nil && response["Vary"] == "Accept-Encoding")
        let tag = try #require(response["ETag"])
        #expect(tag != packedTag)
        #expect(try served.get("/roads/0/0/0.pbf", fields.merging(["If-None-Match": tag]) { $1 }).status == 304)
        #expect(try served.get("/roads/0/0/0.pbf", fields.merging(["If-None-Match": packedTag]) { $1 }).status == 200)
      }
    }
  }

  /// Some tools compress vector tiles with zlib, which is deflate in HTTP.
  @Test func vectorTilesWithZlibHaveContentEncodingDeflate() async throws {
    let plain = Array("\u{1a}no real vector tile".utf8)
    let packed = SampleTiles.zlib(plain)
    let folder = try TemporaryFolder()
    try folder.writeBundle("roads.mbtiles", .pbf, zooms: 0...0)
    let digits = packed.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    try Database(folder.file("roads.mbtiles")).execute("UPDATE images SET tile_data = x'\(digits)'")
    try FileManager.default.createDirectory(atPath: folder.file("files/0/0"), withIntermediateDirectories: true)
    try folder.write("files/0/0/0.pbf", bytes: packed)
    try folder.write("files/metadata.json", #"{"format": "pbf"}"#)
    try await serving([folder.path]) { (served) async throws in
      for id in ["roads", "files"] {
        // Three times: on a thread, from memory, and as a stored response.
        let connection = try served.connect()
        for accepted in ["deflate", "gzip, deflate", "*", "gzip", "gzip;q=1, deflate;q=0", nil, "deflate", "gzip"] {
          let fields = accepted.map { ["Accept-Encoding": $0] } ?? [:]
          let takesIt = accepted == "*" || accepted?.hasSuffix("deflate") == true
          let response = try connection.request("/\(id)/0/0/0.pbf", fields)
          #expect(response.status == 200 && response["Vary"] == "Accept-Encoding")
          #expect(response.body == (takesIt ? packed : plain), "\(id), \(accepted ?? "-"): \(response)")
          #expect(response["Content-Encoding"] == (takesIt ? "deflate" : nil), "\(id), \(accepted ?? "-")")
        }
      }
    }
  }

  @Test func scaleOneIsThePlainTile() async throws {
    try await serving([SampleTilesets.path]) { (served) async throws in
      for (plain, scaled) in [
        ("/relief/1/0/0.png", "/relief/1/0/0@1x.png"), ("/relief/1/0/0", "/relief/1/0/0@1x"),
        ("/roads/0/0/0.pbf", "/roads/0/0/0@1x.pbf"), ("/relief/1/0/0.jpg", "/%72elief/1/0/0@1x.jpg"),
        ("/relief/1/0/1.png", "/tms/1.0.0/relief/1/0/0@1x.png"),
        ("/relief,labels/1/0/0.png", "/relief,labels/1/0/0@1x.png"),
      ] {
        // Twice: before the bundle is open, and after.
        for _ in 0..<2 {
          let response = try served.get(scaled)
          #expect(response.status == 200, "\(scaled): \(response)")
          #expect(try response["ETag"] == served.get(plain)["ETag"], "\(scaled)")
        }
      }
      #expect(try served.get("/relief/2/3/3@1x.png").status == 404)
    }
  }

  @Test func cacheControlIsConfiguredByTileset() async throws {
    try await serving([SampleTilesets.path]) { options in
      options.caching = "no-cache"
      options.settings = { id in .init(caching: id == "photo" ? "public, max-age=31536000, immutable" : nil) }
    } _: { (served) async throws in
      #expect(try served.get("/relief/0/0/0.png")["Cache-Control"] == "no-cache")
      #expect(try served.get("/photo/0/0/0.jpg")["Cache-Control"] == "public, max-age=31536000, immutable")
      // A missing tile is cached as long.
      #expect(try served.get("/relief/2/3/3.png")["Cache-Control"] == "no-cache")
      #expect(try served.get("/photo.json")["Cache-Control"] == "no-cache")
    }
  }

  /// A file may have a date of the future: a copy from a machine with another clock.
  @Test func noAnswerNamesADateOfTheFuture() async throws {
    let folder = try TemporaryFolder()
    try folder.writeBundle("a.mbtiles", zooms: 0...0)
    let path = folder.file("a.mbtiles")
    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: 86_400)], ofItemAtPath: path)
    try await serving([folder.path]) { (served) async throws in
      let response = try served.get("/a/0/0/0.png")
      let modified = try #require(response["Last-Modified"].flatMap(HTTPDate.seconds))
      let date = try #require(response["Date"].flatMap(HTTPDate.seconds))
      #expect(modified <= date)
      // It tells nothing of the tileset's state.
      let since = ["If-Modified-Since": try #require(response["Last-Modified"])]
      #expect(try served.get("/a/0/0/0.png", since).status == 200)
    }
  }
}
