import Foundation
import TestSupport
import Testing
import TileIndex

@testable import TileServe

/// Bundles that are added, changed and removed while clients send requests.
@Suite(.ownThread) struct BundlesComeAndGoTests {
  let folder: TemporaryFolder
  let elsewhere: TemporaryFolder
  init() throws {
    folder = try TemporaryFolder()
    elsewhere = try TemporaryFolder()
  }

  /// Replaces a bundle atomically.
  private func put(_ name: String, seed: Int) throws {
    try elsewhere.writeBundle("new.mbtiles", zooms: 0...1, seed: seed)
    guard rename(elsewhere.file("new.mbtiles"), folder.file(name)) == 0 else { throw CocoaError(.fileWriteUnknown) }
  }

  private func images(seed: Int) throws -> [UInt8] { try SampleTiles.image(seed * 3) }

  /// A folder of tiles with a new zoom or column is a new state of the tileset.
  @Test func growingFoldersAreNewTilesets() async throws {
    let image = Data(try images(seed: 1))
    func add(_ path: String) throws {
      let file = URL(fileURLWithPath: folder.file("tiles/\(path).png"))
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try image.write(to: file)
    }
    try add("0/0/0")
    try add("1/0/0")
    try await serving([folder.path]) { (served) async throws in
      #expect(try served.get("/tiles.json").text.contains(#""maxzoom":1"#))
      try add("2/1/1")
      #expect(served.registry.refresh().replaced == ["tiles"])
      #expect(try served.get("/tiles.json").text.contains(#""maxzoom":2"#))
      let before = try served.get("/tiles/2/1/1.png")["Last-Modified"]
      #expect(served.registry.refresh().isEmpty)
      try await Task.sleep(for: .seconds(1.1))
      try add("2/2/1")
      #expect(served.registry.refresh().replaced == ["tiles"])
      #expect(try served.get("/tiles/2/1/1.png")["Last-Modified"] != before)
    }
  }

  /// PMTiles archives are served like MBTiles bundles.
  @Test func pmtilesArchivesAreServed() async throws {
    func put(_ seed: Int) throws -> [UInt8] {
      let image = try images(seed: seed)
      var archive = SmallArchive()
      archive.zooms = (0, 1)
      for id in 0..<4 { archive.tiles[UInt64(id)] = image }
      try Data(archive.bytes).write(to: URL(fileURLWithPath: elsewhere.file("new")))
      #expect(rename(elsewhere.file("new"), folder.file("world.pmtiles")) == 0)
      return image
    }
    let first = try put(1)
    try await serving([folder.path]) { (served) async throws in
      #expect(try served.get("/tilesets.json").text.contains(#""id":"world""#))
      let document = try served.get("/world.json").text
      #expect(document.contains(#""name":"small""#) && document.contains(#""maxzoom":1"#), "\(document)")
      let tile = try served.get("/world/1/0/0.png")
      #expect(tile.status == 200 && tile.body == first && tile["Content-Type"] == "image/png")
      #expect(try served.get("/world/1/0/0", ["If-None-Match": tile["ETag"] ?? ""]).status == 304)
      // The last tile of zoom 1 is missing.
      #expect(try served.get("/world/1/1/0.png").status == 404)
      #expect(try served.get("/world/0/0/0@2x.png").status == 200)
      let second = try put(2)
      #expect(served.registry.refresh().replaced == ["world"])
      #expect(try served.get("/world/1/0/0.png").body == second)
    }
  }

  @Test func noRequestFailsWhileBundlesChange() async throws {
    try put("stays.mbtiles", seed: 1)
    try put("changes.mbtiles", seed: 2)
    let seeds = 2...6
    let allowed = try Set(seeds.map { try images(seed: $0) })
    let stays = try images(seed: 1)
    try await serving([folder.path]) { (served) async throws in
      let port = served.port
      let isDone = Locked(false)
      let failures = Locked<[String]>([])
      let counts = Locked(0)
      let clients = (0..<3).map { number in
        Task {
          try await onThread {
            let connection = try HTTPConnection(port: port)
            while !isDone.withLock({ $0 }) {
              let fixed = try connection.request("/stays/0/0/0.png")
              if fixed.status != 200 || fixed.body != stays { failures.withLock { $0.append("stays: \(fixed)") } }
              let changing = try connection.request("/changes/0/0/0.\(number == 0 ? "png" : "png?\(number)")")
              if changing.status != 200 || !allowed.contains(changing.body) {
                failures.withLock { $0.append("changes: \(changing)") }
              }
              counts.withLock { $0 += 1 }
            }
          }
        }
      }
      func waitForRequests() async throws {
        let goal = counts.withLock { $0 } + 6
        #expect(try await onThread { eventually { counts.withLock { $0 } >= goal } })
      }
      for seed in seeds.dropFirst() {
        try put("changes.mbtiles", seed: seed)
        try put("comes.mbtiles", seed: seed)
        let change = served.registry.refresh()
        #expect(change.added == ["comes"] && change.replaced == ["changes"] && change.failed.isEmpty, "\(change)")
        #expect(try served.get("/changes/0/0/0.png").body == images(seed: seed))
        #expect(try served.get("/comes/0/0/0.png").status == 200)
        try await waitForRequests()
        try FileManager.default.removeItem(atPath: folder.file("comes.mbtiles"))
        #expect(served.registry.refresh().removed == ["comes"])
        #expect(try served.get("/comes/0/0/0.png").status == 404)
        try await waitForRequests()
      }
      isDone.withLock { $0 = true }
      for client in clients { try await client.value }
      #expect(failures.withLock { $0 } == [])
    }
  }

  /// The server scans by itself.
  @Test func changesAreFoundByTheServer() async throws {
    try put("a.mbtiles", seed: 1)
    try await serving([folder.path]) {
      $0.refreshSeconds = 1
    } _: { (served) async throws in
      let tag = try served.get("/a/0/0/0.png")["ETag"]
      try put("a.mbtiles", seed: 2)
      try put("b.mbtiles", seed: 1)
      #expect(try eventually { try served.get("/b/0/0/0.png").status == 200 })
      let changed = try served.get("/a/0/0/0.png", ["If-None-Match": tag ?? ""])
      let second = try images(seed: 2)
      #expect(changed.status == 200 && changed.body == second)
      // Equal bytes have equal tags in all bundles.
      #expect(try served.get("/b/0/0/0.png", ["If-None-Match": tag ?? ""]).status == 304)
    }
  }

  @Test func brokenAndHalfCopiedBundlesAreSkippedAndReported() async throws {
    try put("a.mbtiles", seed: 1)
    try elsewhere.writeBundle("whole.mbtiles", zooms: 0...2, seed: 2)
    let whole = try elsewhere.bytes("whole.mbtiles")
    try await serving([folder.path]) { (served) async throws in
      let first = try images(seed: 1)
      #expect(try served.get("/a/0/0/0.png").body == first)
      // A growing copy, beside another bundle and in its place.
      let halves = [0, 1, 100, 5000, whole.count / 2, whole.count - 1]
      for count in halves {
        for name in ["a.mbtiles", "b.mbtiles"] {
          try whole.prefix(count).write(to: URL(fileURLWithPath: folder.file(name)), options: .atomic)
        }
        let change = served.registry.refresh()
        #expect(change.added.isEmpty && change.replaced.isEmpty, "\(count) bytes: \(change)")
        #expect(change.failed["a"] != nil || count > 0, "\(count) bytes: \(change)")
        #expect(try served.get("/a/0/0/0.png").body == first, "\(count) bytes")
        for target in ["/b/0/0/0.png", "/b.json", "/b/"] {
          let response = try served.get(target)
          #expect(response.status == 503 && response["Retry-After"] != nil, "\(target), \(count) bytes: \(response)")
          #expect(!response.text.contains(folder.path))
        }
        let list = try served.get("/tilesets.json").text
        #expect(list.contains(#""unavailable":[{"id":"a""#) && list.contains(#"{"id":"b""#), "\(list)")
        #expect(!list.contains(folder.path))
        // Nothing is reported twice.
        #expect(served.registry.refresh().isEmpty)
      }
      for name in ["a.mbtiles", "b.mbtiles"] {
        try whole.write(to: URL(fileURLWithPath: folder.file(name)), options: .atomic)
      }
      let change = served.registry.refresh()
      #expect(change.replaced == ["a"] && change.added == ["b"] && change.failed.isEmpty, "\(change)")
      #expect(try served.get("/a/0/0/0.png").body == images(seed: 2) && served.get("/b/0/0/0.png").status == 200)
      #expect(try served.get("/tilesets.json").text.contains(#""unavailable":[]"#))
    }
  }

  /// No request can name it, so that it is not offered.
  @Test(arguments: ["a\nb", "a\u{1b}[31m", "a\u{7f}"]) func namesThatNoRequestMayHave(_ name: String) async throws {
    try put("\(name).mbtiles", seed: 1)
    try put("b.mbtiles", seed: 1)
    try await serving([folder.path]) { (served) async throws in
      #expect(served.registry.tilesets.map(\.id) == ["b"])
      #expect(served.registry.failures.values.contains { $0.contains("control characters") })
    }
  }

  /// A bundle that is broken at the start is reported at the first request.
  @Test func bundleThatIsBrokenAtTheStart() async throws {
    try folder.write("a.mbtiles", "no bundle")
    try put("b.mbtiles", seed: 1)
    try await serving([folder.path]) { (served) async throws in
      for target in ["/a/0/0/0.png", "/a.json", "/a/", "/tms/1.0.0/a", "/a,b/0/0/0.png"] {
        let response = try served.get(target)
        #expect(
          response.status == 503 && response["Retry-After"] != nil && !response.text.contains(folder.path),
          "\(response)")
      }
      #expect(try served.get("/b/0/0/0.png").status == 200)
      try put("a.mbtiles", seed: 2)
      #expect(served.registry.refresh().failed.isEmpty)
      #expect(try served.get("/a/0/0/0.png").status == 200)
      #expect(try served.get("/tilesets.json").text.contains(#""unavailable":[]"#))
    }
  }

  /// Broken bundles are found at the start, before the first request, and reported once.
  @Test func brokenBundlesAreFoundAtTheStart() async throws {
    try folder.write("a.mbtiles", "no bundle")
    try folder.write("c.pmtiles", "")
    try put("b.mbtiles", seed: 1)
    try await serving([folder.path]) { (served) async throws in
      await served.registry.findBroken()
      #expect(served.registry.readableTilesets.map(\.id) == ["b"])
      #expect(Set(served.registry.failures.keys) == ["a", "c"] && served.registry.openCount == 0)
      #expect(try served.metric("tileserve_tilesets") == 1)
      #expect(try served.metric("tileserve_tilesets_failed") == 2)
      let change = served.registry.refresh()
      #expect(change.failed["a"]?.contains(folder.file("a.mbtiles")) == true && change.failed.count == 2, "\(change)")
      #expect(try served.get("/a/0/0/0.png").status == 503)
      #expect(served.registry.refresh().isEmpty)
      try put("a.mbtiles", seed: 2)
      #expect(served.registry.refresh().replaced == ["a"])
      #expect(try served.metric("tileserve_tilesets") == 2)
    }
  }

  /// A link to a parent folder is not followed; one to another folder is.
  @Test func cyclesOfSymbolicLinks() throws {
    for name in ["x", "y"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
    try put("top.mbtiles", seed: 1)
    try put("x/deep.mbtiles", seed: 2)
    for (link, target) in [("x/up", ".."), ("x/self", "."), ("y/other", "../x"), ("x/z", "../y")] {
      try FileManager.default.createSymbolicLink(atPath: folder.file(link), withDestinationPath: target)
    }
    #expect(try TilesetRegistry([folder.path]).tilesets.map(\.id) == ["top", "x--deep", "y--other--deep"])
  }

  @Test func idsComeFromSubfolders() async throws {
    try FileManager.default.createDirectory(atPath: folder.file("x/y"), withIntermediateDirectories: true)
    try put("x/y/deep.mbtiles", seed: 1)
    try put("x--clash.mbtiles", seed: 2)
    try put("x/clash.mbtiles", seed: 3)
    try put("Über & <b>.mbtiles", seed: 4)
    try put("a,b.mbtiles", seed: 5)
    try put(".hidden.mbtiles", seed: 6)
    try put("CAPITALS.MBTILES", seed: 7)
    try await serving([folder.path]) { (served) async throws in
      #expect(served.registry.tilesets.map(\.id) == ["CAPITALS", "a,b", "x--clash", "x--y--deep", "Über & <b>"])
      #expect(try served.get("/x--y--deep/0/0/0.png").body == images(seed: 1))
      #expect(try served.get("/%C3%9Cber%20%26%20%3Cb%3E/0/0/0.png").body == images(seed: 4))
      #expect(try served.get("/a,b/0/0/0.png").body == images(seed: 5))
      let clash = try #require(served.registry.failures.first)
      #expect(
        served.registry.failures.count == 1 && clash.key.hasPrefix(folder.path) && clash.value.contains("x--clash"))
      let page = try served.get("/")
      #expect(page.status == 200 && !page.text.contains("<b>.") && !page.text.contains(folder.path))
    }
  }

  @Test func thousandBundles() async throws {
    try elsewhere.writeBundle("one.mbtiles", zooms: 0...1)
    for number in 0..<1000 {
      try FileManager.default.linkItem(
        atPath: elsewhere.file("one.mbtiles"), toPath: folder.file("map-\(number).mbtiles"))
    }
    try await serving([folder.path]) { (served) async throws in
      #expect(served.registry.openCount == 0)
      var random = SeededGenerator(seed: 3)
      let connection = try served.connect()
      for _ in 0..<300 {
        #expect(try connection.request("/map-\(Int.random(in: 0..<1000, using: &random))/1/0/0.png").status == 200)
      }
      // The least recently used ones are closed.
      #expect(served.registry.openCount <= OpenTilesets.countMax)
      let list = try connection.request("/tilesets.json")
      #expect(list.status == 200 && list.text.matches(of: /"tilejson"/).count == 1000)
      #expect(served.registry.openCount <= OpenTilesets.countMax)
      #expect(served.registry.refresh().isEmpty)
    }
  }
}
